"""What was published, as attacks read it: statistics, tables of a workbook, answers of a vault."""
