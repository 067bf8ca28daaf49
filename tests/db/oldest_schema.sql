-- The database as the first release made it. Migrations lead such a file to the schema of today's models.
CREATE TABLE migration (name TEXT PRIMARY KEY, applied_at INTEGER NOT NULL) STRICT;
CREATE TABLE account (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    plan TEXT NOT NULL CHECK (plan IN ('free', 'pro')),
    instance_id TEXT NOT NULL CHECK (length(instance_id) >= 16)
) STRICT;
CREATE TABLE endpoint (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    slug TEXT NOT NULL CHECK (length(slug) BETWEEN 3 AND 64),
    name TEXT NOT NULL CHECK (length(name) BETWEEN 1 AND 100),
    description TEXT NOT NULL CHECK (length(description) <= 2000),
    retention_days INTEGER NOT NULL CHECK (retention_days BETWEEN 1 AND 90),
    forward_url TEXT,
    active INTEGER NOT NULL CHECK (active IN (0, 1)),
    reply TEXT NOT NULL CHECK (json_valid(reply)),
    forward TEXT NOT NULL CHECK (json_valid(forward)),
    auth TEXT NOT NULL CHECK (json_valid(auth)),
    created_at INTEGER NOT NULL,
    removed INTEGER NOT NULL DEFAULT 0 CHECK (removed IN (0, 1))
) STRICT;
CREATE UNIQUE INDEX endpoint_slug ON endpoint (slug) WHERE removed = 0;
CREATE TABLE capture (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    endpoint_id INTEGER NOT NULL REFERENCES endpoint (id),
    received_at INTEGER NOT NULL,
    method TEXT NOT NULL,
    target TEXT NOT NULL,
    http_version TEXT NOT NULL,
    headers BLOB NOT NULL,
    content_type TEXT NOT NULL,
    size INTEGER NOT NULL CHECK (size >= 0),
    sha256 TEXT NOT NULL,
    source_address TEXT NOT NULL,
    source_port INTEGER NOT NULL,
    scheme TEXT NOT NULL,
    complete INTEGER NOT NULL CHECK (complete IN (0, 1)),
    reply_status INTEGER NOT NULL,
    mirror TEXT NOT NULL CHECK (mirror IN ('n', 'q', 'd', 'f')),
    is_read INTEGER NOT NULL CHECK (is_read IN (0, 1))
) STRICT;
CREATE INDEX capture_list ON capture (endpoint_id, received_at, id, is_read);
CREATE TABLE capture_reply (
    capture_seq INTEGER PRIMARY KEY REFERENCES capture (seq) ON DELETE CASCADE,
    ms REAL NOT NULL
) STRICT;
CREATE TABLE capture_body (key INTEGER PRIMARY KEY, data BLOB NOT NULL) STRICT;
CREATE TABLE loose_body (
    seq INTEGER PRIMARY KEY,
    dropped INTEGER NOT NULL CHECK (dropped IN (0, 1))
) STRICT;
CREATE TABLE delivery (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    capture_seq INTEGER NOT NULL REFERENCES capture (seq) ON DELETE CASCADE,
    endpoint_id INTEGER NOT NULL,
    url TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('queued', 'delivered', 'failed')),
    queued_at INTEGER NOT NULL,
    started_at INTEGER,
    ms REAL,
    status INTEGER,
    response_headers BLOB,
    response_size INTEGER NOT NULL DEFAULT 0,
    response_truncated INTEGER NOT NULL DEFAULT 0,
    error TEXT,
    response_body BLOB
) STRICT;
CREATE INDEX delivery_capture ON delivery (capture_seq, seq);
CREATE INDEX delivery_queued ON delivery (endpoint_id, seq) WHERE state = 'queued';
CREATE TRIGGER endpoint_plan_limit BEFORE INSERT ON endpoint
    WHEN (SELECT plan FROM account) = 'free' AND (SELECT count(*) FROM endpoint WHERE removed = 0) >= 10
    BEGIN SELECT RAISE(ABORT, 'plan limit'); END;
CREATE TRIGGER endpoint_stays_removed BEFORE UPDATE OF removed ON endpoint
    WHEN OLD.removed = 1 AND NEW.removed = 0
    BEGIN SELECT RAISE(ABORT, 'a removed endpoint stays removed'); END;
CREATE TRIGGER account_plan_limit BEFORE UPDATE OF plan ON account
    WHEN NEW.plan = 'free' AND (SELECT count(*) FROM endpoint WHERE removed = 0) > 10
    BEGIN SELECT RAISE(ABORT, 'plan limit'); END;
CREATE TRIGGER capture_small_body AFTER DELETE ON capture WHEN OLD.size <= 1048576
    BEGIN DELETE FROM capture_body WHERE key = OLD.seq * 4096; END;
CREATE TRIGGER capture_big_body AFTER DELETE ON capture WHEN OLD.size > 1048576
    BEGIN INSERT INTO loose_body (seq, dropped) VALUES (OLD.seq, 1); END;
INSERT INTO account VALUES (1, 'free', '0123456789abcdef0123456789abcdef');
INSERT INTO migration VALUES ('0001_create_tables', 1795000000000000);
