"""Files of tables: hierarchies, published tables, and those of other tools."""
