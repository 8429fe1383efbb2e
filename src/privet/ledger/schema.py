"""TRUSTED: the tables. The database itself refuses a charge that no gauge certifies, and an edit of an entry."""

from __future__ import annotations

APPLICATION, FORMAT = 0x50525654, 3  # "PRVT" in the file's header, and the version of these tables
DIVIDED = 4  # the version of a ledger with parts
REPEATABLE = "before any draw"  # of a failure: the same question may be tried once more without a new charge

ENTRY = (
    "number", "time", "kind", "analyst", "request", "key", "note", "about", "over",
    "epsilon", "delta", "rho", "rho_delta", "exact", "detail",
)  # fmt: skip

ALL = "all"  # the account of everybody together; "by:" + analyst is one analyst's, "by:" the owner's; see parts.py

SCHEMA = """
CREATE TABLE entry (
    number INTEGER PRIMARY KEY,
    time TEXT NOT NULL,
    kind TEXT NOT NULL,
    analyst TEXT NOT NULL,
    request TEXT,
    key TEXT,
    note TEXT NOT NULL,
    about INTEGER REFERENCES entry (number),
    over INTEGER NOT NULL CHECK (over IN (0, 1)),
    epsilon INTEGER, delta INTEGER, rho INTEGER, rho_delta INTEGER,  -- as counted in the account of everybody
    exact TEXT,                                                      -- the price as fractions
    detail TEXT NOT NULL,
    digest TEXT NOT NULL
);
CREATE INDEX entry_key ON entry (key) WHERE key IS NOT NULL;
CREATE UNIQUE INDEX entry_about ON entry (about) WHERE about IS NOT NULL;  -- one outcome per attempt, one repeat
CREATE INDEX entry_acceptance ON entry (number) WHERE kind = 'acceptance';
CREATE INDEX entry_repeatable ON entry (request) WHERE kind = 'failure' AND request IS NOT NULL;

CREATE TRIGGER entry_next BEFORE INSERT ON entry
    WHEN NEW.number <> coalesce((SELECT max(number) FROM entry), 0) + 1
    BEGIN SELECT RAISE(ABORT, 'entries are numbered without gaps'); END;
CREATE TRIGGER entry_edit BEFORE UPDATE ON entry BEGIN SELECT RAISE(ABORT, 'entries are never changed'); END;
CREATE TRIGGER entry_drop BEFORE DELETE ON entry BEGIN SELECT RAISE(ABORT, 'entries are never deleted'); END;

CREATE TABLE answer (
    charge INTEGER PRIMARY KEY REFERENCES entry (number),
    request TEXT NOT NULL,
    body BLOB NOT NULL
);
CREATE INDEX answer_request ON answer (request);
CREATE TRIGGER answer_edit BEFORE UPDATE ON answer BEGIN SELECT RAISE(ABORT, 'answers are never changed'); END;
CREATE TRIGGER answer_drop BEFORE DELETE ON answer BEGIN SELECT RAISE(ABORT, 'answers are never deleted'); END;

-- Whom a table protects, as the first charge about it said: it never changes.
CREATE TABLE noted (
    name TEXT PRIMARY KEY,
    protects TEXT NOT NULL,
    charge INTEGER NOT NULL REFERENCES entry (number)
);
CREATE TRIGGER noted_edit BEFORE UPDATE ON noted BEGIN SELECT RAISE(ABORT, 'whom a table protects never changes'); END;
CREATE TRIGGER noted_drop BEFORE DELETE ON noted BEGIN SELECT RAISE(ABORT, 'whom a table protects never changes'); END;

-- Sums of prices in whole units; NULL is infinite. A row without caps only counts. A row is closed when its owner
-- granted less than was spent already. `over` is what a 'warn' ledger let through beyond its cap. `unfinished` counts
-- attempts without an answer or a failure: under way, or killed.
CREATE TABLE account (
    name TEXT PRIMARY KEY,
    policy TEXT NOT NULL CHECK (policy IN ('refuse', 'warn')),
    budget TEXT,
    epsilon_cap INTEGER, delta_cap INTEGER, rho_cap INTEGER,
    epsilon INTEGER, delta INTEGER, rho INTEGER, rho_delta INTEGER,
    over_epsilon INTEGER, over_delta INTEGER, over_rho INTEGER, over_rho_delta INTEGER,
    closed INTEGER NOT NULL CHECK (closed IN (0, 1)),
    failures INTEGER NOT NULL CHECK (failures >= 0),
    unfinished INTEGER NOT NULL CHECK (unfinished >= 0),
    CHECK (typeof(epsilon) IN ('integer', 'null') AND typeof(delta) IN ('integer', 'null')
        AND typeof(rho) IN ('integer', 'null') AND typeof(rho_delta) IN ('integer', 'null')),
    CONSTRAINT cap CHECK (
        closed = 1
        OR (epsilon_cap IS NULL AND name <> 'all')
        OR (epsilon IS NOT NULL AND epsilon <= epsilon_cap AND delta IS NOT NULL AND delta <= delta_cap)
        OR (rho IS NOT NULL AND rho <= rho_cap AND rho_delta IS NOT NULL AND rho_delta <= delta_cap)
    ),
    CHECK (policy = 'warn' OR (over_epsilon IS 0 AND over_delta IS 0 AND over_rho IS 0 AND over_rho_delta IS 0)),
    CHECK (name <> 'all' OR closed = 0)
);
CREATE TRIGGER account_closed BEFORE UPDATE OF epsilon, delta, rho, rho_delta ON account WHEN OLD.closed = 1
    BEGIN SELECT RAISE(ABORT, 'this account takes no more charges'); END;
CREATE TRIGGER account_terms BEFORE UPDATE OF name, policy, budget, epsilon_cap, delta_cap, rho_cap, closed ON account
    BEGIN SELECT RAISE(ABORT, 'caps are granted, not changed'); END;
CREATE TRIGGER account_grows BEFORE UPDATE ON account
    WHEN (OLD.epsilon IS NULL AND NEW.epsilon IS NOT NULL) OR NEW.epsilon < OLD.epsilon
      OR (OLD.delta IS NULL AND NEW.delta IS NOT NULL) OR NEW.delta < OLD.delta
      OR (OLD.rho IS NULL AND NEW.rho IS NOT NULL) OR NEW.rho < OLD.rho
      OR (OLD.rho_delta IS NULL AND NEW.rho_delta IS NOT NULL) OR NEW.rho_delta < OLD.rho_delta
    BEGIN SELECT RAISE(ABORT, 'nothing is refunded'); END;
CREATE TRIGGER account_drop BEFORE DELETE ON account WHEN OLD.name = 'all'
    BEGIN SELECT RAISE(ABORT, 'the account of everybody stays'); END;
"""
