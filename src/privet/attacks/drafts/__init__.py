"""Release files drafted from workbooks: where tables are, whom their rows and columns are about, what stays open."""
