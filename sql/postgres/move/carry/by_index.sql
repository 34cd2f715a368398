-- Catalogs are read by their indexes, and the long query over them is planned once.
SET enable_seqscan = off;
SET jit = off;
SET plan_cache_mode = force_generic_plan
