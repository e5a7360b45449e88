"""Commands that show a stored run or make one of files: `show`, `import`, `merge`."""
