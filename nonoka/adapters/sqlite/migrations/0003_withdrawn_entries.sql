-- When an entry was withdrawn from the conversation (ms UTC): it stays here, its position is never used again.
ALTER TABLE memory_entries ADD COLUMN withdrawn_at INTEGER;
