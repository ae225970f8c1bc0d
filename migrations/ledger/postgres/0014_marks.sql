-- Named moments of a source, such as deploys: when, and who set them when. `source` is empty where the source holds the record.
CREATE TABLE dlq_tui.marks (
    source TEXT NOT NULL,
    name TEXT NOT NULL,
    at BIGINT NOT NULL,
    set_at BIGINT NOT NULL,
    os_user TEXT NOT NULL,
    database_user TEXT NOT NULL,
    host TEXT NOT NULL,
    ssh_client TEXT,
    PRIMARY KEY (source, name)
);
