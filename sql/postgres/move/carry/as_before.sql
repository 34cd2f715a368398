-- Queries are planned as they were before by_index.sql.
RESET enable_seqscan;
RESET jit;
RESET plan_cache_mode
