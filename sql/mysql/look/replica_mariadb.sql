-- What a server that follows others says of them.
SHOW ALL SLAVES STATUS
