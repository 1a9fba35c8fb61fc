// MIOpen and rocFFT keep kernels in SQLite files (sqlite.org/fileformat.html). The bytes are handed to SQLite as a read-only
// image; nothing is copied but files in write-ahead mode, whose header must say otherwise to be read without a log. What a
// crafted file could try is closed: no attached databases, views, triggers, virtual tables of the file's own making or
// functions (the authorizer lets through reading the one table), a bound on steps and on memory.
#include "sqlite_db.h"

#include <sqlite3.h>

#include <memory>

#include "isa-audit/base/problem.h"

namespace isa_audit {
namespace {

using namespace std::string_view_literals;

constexpr int kStepsBetweenChecks = 10000;
constexpr int kChecks = 2000; // 20 million steps: a table of some million rows, a second or two
constexpr uint64_t kMaxCopy = uint64_t{256} << 20;
constexpr sqlite3_int64 kMaxMemory = 64 << 20;
constexpr size_t kWriteVersion = 18, kReadVersion = 19; // in the header; 2 is write-ahead

struct CloseDatabase {
  void operator()(sqlite3 *db) const { sqlite3_close_v2(db); }
};
struct Finalize {
  void operator()(sqlite3_stmt *statement) const { sqlite3_finalize(statement); }
};
using Statement = std::unique_ptr<sqlite3_stmt, Finalize>;

class Database {
public:
  // Error: what SQLite says.
  llvm::Error open(const Bytes &file) {
    static const bool ready = sqlite3_initialize() == SQLITE_OK && sqlite3_hard_heap_limit64(kMaxMemory) >= 0;
    if (!ready) return make_error("SQLite could not be set up");
    const uint8_t *data = file.data();
    if (file.size() > kReadVersion && (data[kWriteVersion] == 2 || data[kReadVersion] == 2)) {
      if (file.size() > kMaxCopy) return make_error("database in write-ahead mode, too large to be read");
      copy_.assign(file.view().begin(), file.view().end());
      copy_[kWriteVersion] = copy_[kReadVersion] = 1;
      data = copy_.data();
    }
    sqlite3 *raw = nullptr;
    int status = sqlite3_open_v2(":memory:", &raw, SQLITE_OPEN_READWRITE | SQLITE_OPEN_MEMORY | SQLITE_OPEN_NOMUTEX, nullptr);
    db_.reset(raw);
    if (status != SQLITE_OK) return failure("cannot open");
    // READONLY: SQLite promises not to write.
    status = sqlite3_deserialize(raw, "main", const_cast<unsigned char *>(data), static_cast<sqlite3_int64>(file.size()),
                                 static_cast<sqlite3_int64>(file.size()), SQLITE_DESERIALIZE_READONLY);
    if (status != SQLITE_OK) return failure("cannot open");
    limit();
    return llvm::Error::success();
  }

  // nullptr and an error in sqlite3_errmsg where the statement cannot be made.
  Statement prepare(std::string_view sql) {
    sqlite3_stmt *statement = nullptr;
    sqlite3_prepare_v2(db_.get(), sql.data(), static_cast<int>(sql.size()), &statement, nullptr);
    return Statement(statement);
  }

  llvm::Error failure(std::string_view doing) const {
    return make_error(std::string(doing) + " the database: " + sqlite3_errmsg(db_.get()));
  }

private:
  static int allow(void *, int action, const char *, const char *, const char *database, const char *) {
    if (action == SQLITE_SELECT) return SQLITE_OK;
    return action == SQLITE_READ && database && database == "main"sv ? SQLITE_OK : SQLITE_DENY;
  }
  static int check(void *left) { return --*static_cast<int *>(left) <= 0; }

  void limit() {
    sqlite3 *db = db_.get();
    sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
    sqlite3_db_config(db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
    sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_VIEW, 0, nullptr);
    sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, nullptr);
    sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0, nullptr);
    for (auto [what, most] : {std::pair{SQLITE_LIMIT_ATTACHED, 0},
                              {SQLITE_LIMIT_SQL_LENGTH, 1 << 16},
                              {SQLITE_LIMIT_EXPR_DEPTH, 20},
                              {SQLITE_LIMIT_COMPOUND_SELECT, 2},
                              {SQLITE_LIMIT_FUNCTION_ARG, 4},
                              {SQLITE_LIMIT_TRIGGER_DEPTH, 0},
                              {SQLITE_LIMIT_WORKER_THREADS, 0},
                              {SQLITE_LIMIT_COLUMN, 100}})
      sqlite3_limit(db, what, most);
    sqlite3_set_authorizer(db, allow, nullptr);
    sqlite3_progress_handler(db, kStepsBetweenChecks, check, &checks_left_);
  }

  int checks_left_ = kChecks;
  std::vector<uint8_t> copy_;
  std::unique_ptr<sqlite3, CloseDatabase> db_;
};

llvm::Expected<bool> read_texts(Database &db, std::string_view sql, uint64_t limit,
                                const std::function<void(std::string_view)> &row) {
  Statement statement = db.prepare(sql);
  if (!statement) return db.failure("cannot read");
  for (uint64_t i = 0; i < limit; ++i) {
    int status = sqlite3_step(statement.get());
    if (status == SQLITE_DONE) return true;
    if (status == SQLITE_INTERRUPT) return false;
    if (status != SQLITE_ROW) return db.failure("cannot read all of");
    const auto *text = reinterpret_cast<const char *>(sqlite3_column_text(statement.get(), 0));
    if (text) row({text, static_cast<size_t>(sqlite3_column_bytes(statement.get(), 0))});
  }
  return false;
}

} // namespace

bool is_sqlite(const Bytes &file) { return file.text().starts_with("SQLite format 3\0"sv); }

llvm::Expected<std::vector<std::string>> sqlite_tables(const Bytes &file) {
  Database db;
  if (llvm::Error error = db.open(file)) return error;
  std::vector<std::string> out;
  constexpr uint64_t kMaxTables = 1000;
  auto whole =
      read_texts(db, "SELECT name FROM sqlite_schema", kMaxTables, [&](std::string_view name) { out.emplace_back(name); });
  if (!whole) return whole.takeError();
  return out;
}

llvm::Expected<bool> sqlite_texts(const Bytes &file, std::string_view table, std::string_view column, uint64_t limit,
                                  const std::function<void(std::string_view)> &row) {
  Database db;
  if (llvm::Error error = db.open(file)) return error;
  std::string sql = "SELECT ";
  sql += column;
  sql += " FROM ";
  sql += table;
  return read_texts(db, sql, limit, row);
}

} // namespace isa_audit
