#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "frazil/base/result.h"
#include "frazil/format/avro_decoder.h"
#include "frazil/format/avro_schema.h"
#include "frazil/ingest/column_binding.h"
#include "frazil/ingest/column_buffer.h"

namespace frazil::ingest {

/// One step of a plan: what to do with the next value of the bytes. Compiled from a writer's field and a table's column.
struct AvroOp {
  enum class Code : uint8_t {
    kSkip,   ///< by the writer's schema
    kEnter,  ///< a record of which only some fields are wanted: children
    kNull,   ///< nothing is written: the column gets null
    kFill,   ///< nothing is written: the column gets its write default
    kBoolean,
    kInt,
    kIntToLong,
    kIntToDouble,
    kLong,
    kScaledLong,  ///< times `factor`
    kTime,        ///< times `factor`
    kFloat,
    kFloatToDouble,
    kDouble,
    kString,
    kBytes,
    kEnum,
    kFixed,  ///< also a uuid in 16 bytes
    kFixedToBinary,
    kUuidText,
    kDecimal,  ///< in bytes or fixed
    kStruct,   ///< children: all fields of the writer, then kFill for those that it lacks
    kList,     ///< child 0: the element
    kMap,      ///< child 0: the value
  };
  Code code = Code::kSkip;
  bool is_union = false;
  bool is_nullable = false;
  size_t value_branch = 0;       ///< of a union
  size_t num_branches = 0;       ///< of a union
  bool is_special = false;       ///< a union, or one of the next two
  bool rewinds = false;          ///< another op reads the same value again
  bool only_if_missing = false;  ///< passes the value over when the column has its value of this row already
  ColumnBuffer* column = nullptr;
  int64_t factor = 1;
  const format::AvroNode* node = nullptr;  ///< as written, without null
  std::vector<AvroOp> children;
};

/// How to take the columns of a table out of the binary values of one writer's schema, without anything in between.
///
/// Immutable; it points to the columns it was compiled for.
class AvroPlan {
 public:
  AvroPlan(format::AvroNodePtr writer, std::vector<AvroOp> ops) : writer_(std::move(writer)), ops_(std::move(ops)) {}

  /// Appends one value to each column that the writer's schema has. kCorruptData or kInvalidArgument with what is wrong;
  /// then the columns hold a part of it, which the caller cuts off. `bytes` must be all of the value; `row` is the length
  /// of columns without it.
  Status Run(ByteView bytes, int64_t row) const;

 private:
  format::AvroNodePtr writer_;  // ops point into it
  std::vector<AvroOp> ops_;
};

/// A change of the table's schema that a writer's schema asks for (ingest.md rule 11).
struct ColumnChange {
  enum class Kind { kAdd, kWiden, kMakeOptional } kind = Kind::kAdd;
  std::string column;  ///< full name; of kAdd: of the struct around it, empty for the table itself
  spec::Field field;   ///< kAdd: the optional field with its default; kWiden: its type
};

/// Which fields of a writer's record become columns when no column takes them.
struct AvroGrowth {
  bool adds_columns = false;
  std::vector<std::string> ignored_fields;
};

struct CompiledAvro {
  std::unique_ptr<AvroPlan> plan;  ///< only good when nothing has to change
  std::vector<ColumnChange> changes;
  bool has_every_field = true;  ///< each binding's: every run fills all columns
};

/// Matches a writer's schema with the columns of a table. Fields are found by name, exactly or else ignoring case when one
/// fits. A binding whose field the writer lacks gets no op: its column stays as it is.
/// kInvalidArgument naming field, column and both types when no safe cast and no change brings them together;
/// kNotSupported naming the field for a wanted one that has no Iceberg type.
Result<CompiledAvro> CompileAvroPlan(format::AvroNodePtr writer, const std::vector<ColumnBinding>& bindings,
                                     const AvroGrowth& growth);

}  // namespace frazil::ingest
