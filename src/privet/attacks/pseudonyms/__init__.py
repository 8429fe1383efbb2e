"""Attack on pseudonyms: ids found again by trying all of them."""
