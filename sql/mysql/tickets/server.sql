-- Which server this is. The instance is made at install and is part of every
-- backup; a server made anew from one has another uuid, where the engine has that.
SELECT concat(s.instance, '/', coalesce(?, '-')) AS identity, s.mark FROM shardid.server s
