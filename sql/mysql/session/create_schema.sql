-- The schema of everything that is ours.
CREATE DATABASE IF NOT EXISTS shardid DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
