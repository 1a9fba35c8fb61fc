// Reads a column of a SQLite database that may be hostile.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "isa-audit/base/bytes.h"

namespace isa_audit {

bool is_sqlite(const Bytes &file);

// The names of the tables. Error: not a database, or its schema is damaged.
llvm::Expected<std::vector<std::string>> sqlite_tables(const Bytes &file);

// Calls row(text) for the texts of `column` in `table` (names of ours, not of the file), at most `limit` of them. Returns false
// where it gave up before the end: the table is larger than is looked at. Error: damage, no such table or column; the rows
// before the damage have been told.
llvm::Expected<bool> sqlite_texts(const Bytes &file, std::string_view table, std::string_view column, uint64_t limit,
                                  const std::function<void(std::string_view)> &row);

} // namespace isa_audit
