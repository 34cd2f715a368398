-- Grants on our routines, which go when a routine is dropped to be made anew. They are written down first, and stay
-- here until they are given again.
CREATE TABLE IF NOT EXISTS shardid.kept_grant (
    user         VARCHAR(128) NOT NULL,
    host         VARCHAR(255) NOT NULL,
    routine_type VARCHAR(9)   NOT NULL,
    routine      VARCHAR(64)  NOT NULL,
    privileges   VARCHAR(64)  NOT NULL,
    PRIMARY KEY (user, host, routine_type, routine)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
  COMMENT 'shardid: grants on routines that are being made anew'
