-- Statements of the program's own follow.
SET LOCAL shardid.on_behalf_of = 'none'
