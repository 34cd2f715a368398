-- Transactions that XA has prepared: they hold their rows without a session, also over a restart.
XA RECOVER
