-- Brings the extension to the version that the server offers.
ALTER EXTENSION shardid UPDATE
