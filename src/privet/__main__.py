"""`python -m privet` is `privet`."""

from __future__ import annotations

from privet.cli import main

raise SystemExit(main())
