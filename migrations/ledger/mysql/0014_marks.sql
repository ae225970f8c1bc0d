-- Named moments of a source, such as deploys: when, and who set them when. `source` is empty where the source holds the record.
CREATE TABLE dlq_tui_marks (
    source        VARCHAR(500) NOT NULL,
    name          VARCHAR(100) NOT NULL,
    at            BIGINT NOT NULL,
    set_at        BIGINT NOT NULL,
    os_user       VARCHAR(500) NOT NULL,
    database_user VARCHAR(500) NOT NULL,
    host          VARCHAR(500) NOT NULL,
    ssh_client    VARCHAR(500),
    PRIMARY KEY (source, name)
) ENGINE = InnoDB CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
