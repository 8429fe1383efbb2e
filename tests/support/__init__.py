"""What tests share: made-up data, slow definitions, searches, and processes that are started or killed."""
