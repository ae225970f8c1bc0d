-- Who had secrets shown, when, from where, and by which command line.
CREATE TABLE reveals (
    seq INTEGER PRIMARY KEY,
    at BIGINT NOT NULL,
    operator TEXT NOT NULL,
    host TEXT NOT NULL,
    ssh_client TEXT,
    source TEXT NOT NULL,
    command TEXT NOT NULL
);
