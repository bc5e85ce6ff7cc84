#include "frazil/scan/avro_value_builder.h"

#include <algorithm>
#include <limits>
#include <utility>

#include <arrow/api.h>
#include <arrow/extension_type.h>
#include <arrow/util/utf8.h>

#include "frazil/format/avro_value.h"
#include "frazil/format/parquet_schema.h"
#include "frazil/format/parquet_value.h"

namespace frazil::scan {
namespace {

using format::AvroDecoder;
using format::AvroKind;
using format::AvroNode;
using spec::Field;
using spec::TypeId;

/// The type of the values, and which branch of the union they are, when it is one.
struct ValueNode {
  const AvroNode* node = nullptr;  ///< null: there are only nulls
  const AvroNode* written = nullptr;
  size_t branch = 0;
};

Result<ValueNode> ValueNodeOf(const AvroNode& node) {
  ValueNode value{&node, &node, 0};
  if (node.kind == AvroKind::kNull) value.node = nullptr;
  if (node.kind != AvroKind::kUnion) return value;
  value.node = nullptr;
  for (size_t i = 0; i < node.children.size(); ++i) {
    if (node.children[i]->kind == AvroKind::kNull) continue;
    if (value.node != nullptr) return Fail(ErrorCode::kNotSupported, "Avro union of several types");
    value.node = node.children[i].get();
    value.branch = i;
  }
  return value;
}

/// The one non-null type of a node; null when there is none.
const AvroNode* PlainNode(const AvroNode& node) {
  const Result<ValueNode> value = ValueNodeOf(node);
  return value ? value->node : nullptr;
}

/// Maps with other than string keys are arrays of records of two fields.
bool IsMapOfRecords(const AvroNode& node) {
  return node.kind == AvroKind::kArray && node.logical_type == "map" && node.children[0]->kind == AvroKind::kRecord &&
         node.children[0]->fields.size() == 2;
}

AvroColumn ColumnOf(const AvroNode& node, std::optional<int32_t> id, std::string name, const std::string& prefix,
                    const std::map<std::string, spec::FieldId>& name_mapping) {
  AvroColumn column;
  column.name = std::move(name);
  column.node = &node;
  const std::string full_name = prefix.empty() ? column.name : prefix + "." + column.name;
  if (id && *id >= 0) column.id = spec::FieldId(*id);
  if (const auto mapped = name_mapping.find(full_name); mapped != name_mapping.end()) column.id = mapped->second;
  const auto add = [&](const AvroNode& child, std::optional<int32_t> child_id, std::string child_name) {
    column.children.push_back(ColumnOf(child, child_id, std::move(child_name), full_name, name_mapping));
  };
  const AvroNode* value = PlainNode(node);
  if (value == nullptr) return column;
  if (value->kind == AvroKind::kRecord) {
    for (const format::AvroField& field : value->fields) add(*field.type, field.field_id, field.name);
  } else if (IsMapOfRecords(*value)) {
    const std::vector<format::AvroField>& fields = value->children[0]->fields;
    add(*fields[0].type, fields[0].field_id, "key");
    add(*fields[1].type, fields[1].field_id, "value");
  } else if (value->kind == AvroKind::kArray) {
    add(*value->children[0], value->element_id, "element");
  } else if (value->kind == AvroKind::kMap) {
    static const AvroNode key = [] {
      AvroNode text;
      text.kind = AvroKind::kString;
      text.min_size_bytes = 1;
      return text;
    }();
    add(key, value->key_id, "key");
    add(*value->children[0], value->value_id, "value");
  }
  return column;
}

auto CannotBecome(const Field& wanted, const AvroNode& node) {
  return Fail(ErrorCode::kInvalidTable, "column {} is {} in the table, but in the Avro file: {}{}{}", wanted.name,
              wanted.type.ToString(), AvroKindName(node.kind), node.logical_type.empty() ? "" : " ", node.logical_type);
}

/// Types inside, extensions included, as they should be called; the buffers are the same.
std::shared_ptr<arrow::ArrayData> WithType(const arrow::ArrayData& data, const std::shared_ptr<arrow::DataType>& type) {
  std::shared_ptr<arrow::ArrayData> result = data.Copy();
  result->type = type;
  for (size_t i = 0; i < result->child_data.size(); ++i) {
    result->child_data[i] = WithType(*result->child_data[i], type->field(static_cast<int>(i))->type());
  }
  return result;
}

void Must(AvroDecoder& decoder, const arrow::Status& status) {
  if (!status.ok()) decoder.FailWith(ErrorCode::kResourceExhausted, status.message());
}

Result<std::shared_ptr<arrow::Array>> FinishArrow(arrow::ArrayBuilder& builder) {
  std::shared_ptr<arrow::Array> array;
  const arrow::Status status = builder.Finish(&array);
  if (!status.ok()) return Fail(ErrorCode::kResourceExhausted, "{}", status.message());
  return array;
}

/// Handles nulls, so that the kinds below see values only.
class NullableBuilder : public AvroValueBuilder {
 public:
  NullableBuilder(const ValueNode& node, const Field& wanted, std::shared_ptr<arrow::DataType> type)
      : node_(node), wanted_(wanted), type_(std::move(type)) {}

  void Read(AvroDecoder& decoder) override {
    const bool is_union = node_.written->kind == AvroKind::kUnion;
    if (node_.node == nullptr || (is_union && decoder.ReadBranch(node_.written->children.size()) != node_.branch)) {
      if (node_.node == nullptr && is_union) decoder.ReadBranch(node_.written->children.size());
      if (wanted_.required) decoder.FailWith(ErrorCode::kCorruptData, "null in a required column: " + wanted_.name);
      if (decoder.ok()) AppendNull(decoder);
      return;
    }
    if (decoder.ok()) ReadValue(decoder);
  }

 protected:
  virtual void ReadValue(AvroDecoder& decoder) = 0;
  virtual void AppendNull(AvroDecoder& decoder) = 0;

  const AvroNode& node() const { return *node_.node; }
  const Field& wanted() const { return wanted_; }
  const std::shared_ptr<arrow::DataType>& type() const { return type_; }

 private:
  const ValueNode node_;
  const Field wanted_;
  const std::shared_ptr<arrow::DataType> type_;
};

/// Primitive values through an Arrow builder; `read(decoder, builder)` appends one.
template <typename Builder, typename ReadOne>
class PrimitiveBuilder final : public NullableBuilder {
 public:
  PrimitiveBuilder(const ValueNode& node, const Field& wanted, std::shared_ptr<arrow::DataType> type, ReadOne read)
      : NullableBuilder(node, wanted, type),
        builder_(StorageOf(type), arrow::default_memory_pool()),
        read_(std::move(read)) {}

  void AppendMissing() override {
    if (error_.ok()) error_ = builder_.AppendNull();
  }

  Result<std::shared_ptr<arrow::Array>> Finish() override {
    if (!error_.ok()) return Fail(ErrorCode::kResourceExhausted, "{}", error_.message());
    FRAZIL_ASSIGN(const std::shared_ptr<arrow::Array> array, FinishArrow(builder_));
    return arrow::MakeArray(WithType(*array->data(), type()));
  }

 private:
  static std::shared_ptr<arrow::DataType> StorageOf(const std::shared_ptr<arrow::DataType>& type) {
    if (type->id() != arrow::Type::EXTENSION) return type;
    return static_cast<const arrow::ExtensionType&>(*type).storage_type();
  }

  void ReadValue(AvroDecoder& decoder) override { Must(decoder, read_(decoder, builder_)); }
  void AppendNull(AvroDecoder& decoder) override { Must(decoder, builder_.AppendNull()); }
  Builder builder_;
  ReadOne read_;
  arrow::Status error_;
};

template <typename Builder, typename ReadOne>
std::unique_ptr<AvroValueBuilder> MakePrimitive(const ValueNode& node, const Field& wanted,
                                                std::shared_ptr<arrow::DataType> type, ReadOne read) {
  return std::make_unique<PrimitiveBuilder<Builder, ReadOne>>(node, wanted, std::move(type), std::move(read));
}

/// A column of nothing but nulls: its type is unknown, or the file says null.
class NullsBuilder final : public AvroValueBuilder {
 public:
  NullsBuilder(const AvroNode& node, const Field& wanted) : node_(node), wanted_(wanted) {}
  void Read(AvroDecoder& decoder) override {
    if (wanted_.required) decoder.FailWith(ErrorCode::kCorruptData, "null in a required column: " + wanted_.name);
    decoder.Skip(node_);
    ++length_;
  }
  void AppendMissing() override { ++length_; }
  Result<std::shared_ptr<arrow::Array>> Finish() override {
    return format::MakeConstantArray(wanted_.type, spec::Value(), std::exchange(length_, 0));
  }

 private:
  const AvroNode& node_;
  const Field wanted_;
  int64_t length_ = 0;
};

/// A field that the file lacks: its default or null, again and again.
class ConstantBuilder final : public AvroValueBuilder {
 public:
  explicit ConstantBuilder(const Field& wanted) : wanted_(wanted) {}
  void Read(AvroDecoder&) override { ++length_; }
  void AppendMissing() override { ++length_; }
  Result<std::shared_ptr<arrow::Array>> Finish() override {
    return format::MakeConstantArray(wanted_.type, wanted_.initial_default, std::exchange(length_, 0));
  }

 private:
  const Field wanted_;
  int64_t length_ = 0;
};

class StructBuilder final : public NullableBuilder {
 public:
  using NullableBuilder::NullableBuilder;

  Status Plan(const AvroColumn& column) {
    steps_.resize(column.children.size());
    for (size_t i = 0; i < steps_.size(); ++i) steps_[i].node = column.children[i].node;
    for (const Field& child : wanted().type.fields()) {
      const auto found = std::ranges::find(column.children, std::optional(child.id), &AvroColumn::id);
      if (found == column.children.end()) {
        if (child.required && spec::IsNull(child.initial_default)) {
          return Fail(ErrorCode::kInvalidTable, "required field {} of {} is not in the file and has no default",
                      child.name, wanted().name);
        }
        children_.push_back(std::make_unique<ConstantBuilder>(child));
        missing_.push_back(children_.back().get());
        continue;
      }
      FRAZIL_ASSIGN(std::unique_ptr<AvroValueBuilder> builder, MakeAvroValueBuilder(*found, child));
      children_.push_back(std::move(builder));
      steps_[static_cast<size_t>(found - column.children.begin())].child = children_.back().get();
    }
    return {};
  }

  void AppendMissing() override {
    valid_.push_back(false);
    for (const auto& child : children_) child->AppendMissing();
  }

  Result<std::shared_ptr<arrow::Array>> Finish() override {
    arrow::ArrayVector arrays;
    for (const auto& child : children_) {
      FRAZIL_ASSIGN(std::shared_ptr<arrow::Array> array, child->Finish());
      arrays.push_back(std::move(array));
    }
    FRAZIL_ASSIGN(const std::shared_ptr<arrow::Buffer> validity, FinishValidity());
    auto array =
        std::make_shared<arrow::StructArray>(type(), static_cast<int64_t>(valid_.size()), std::move(arrays), validity);
    valid_.clear();
    return array;
  }

 private:
  struct Step {
    const AvroNode* node = nullptr;
    AvroValueBuilder* child = nullptr;  ///< null: nobody wants it
  };

  void ReadValue(AvroDecoder& decoder) override {
    for (const Step& step : steps_) {
      if (!decoder.ok()) return;
      if (step.child != nullptr) {
        step.child->Read(decoder);
      } else {
        decoder.Skip(*step.node);
      }
    }
    for (AvroValueBuilder* child : missing_) child->AppendMissing();
    valid_.push_back(true);
  }
  void AppendNull(AvroDecoder&) override { AppendMissing(); }

  Result<std::shared_ptr<arrow::Buffer>> FinishValidity() const {
    if (std::ranges::find(valid_, false) == valid_.end()) return std::shared_ptr<arrow::Buffer>();
    arrow::TypedBufferBuilder<bool> bits;
    std::shared_ptr<arrow::Buffer> buffer;
    arrow::Status status = bits.Reserve(static_cast<int64_t>(valid_.size()));
    if (status.ok()) {
      for (const bool valid : valid_) bits.UnsafeAppend(valid);
      status = bits.Finish(&buffer);
    }
    if (!status.ok()) return Fail(ErrorCode::kResourceExhausted, "{}", status.message());
    return buffer;
  }

  std::vector<Step> steps_;  // in the order of the file
  std::vector<std::unique_ptr<AvroValueBuilder>> children_;
  std::vector<AvroValueBuilder*> missing_;  // of children_
  std::vector<bool> valid_;
};

/// Lists and maps: offsets here, items in one or two builders.
class RepeatedBuilder final : public NullableBuilder {
 public:
  using NullableBuilder::NullableBuilder;

  Status Plan(const AvroColumn& column) {
    const std::vector<Field>& fields = wanted().type.fields();
    for (size_t i = 0; i < fields.size(); ++i) {
      FRAZIL_ASSIGN(std::unique_ptr<AvroValueBuilder> items, MakeAvroValueBuilder(column.children[i], fields[i]));
      items_.push_back(std::move(items));
    }
    return {};
  }

  void AppendMissing() override { AppendSlot(false); }

  Result<std::shared_ptr<arrow::Array>> Finish() override {
    arrow::ArrayVector arrays;
    for (const auto& items : items_) {
      FRAZIL_ASSIGN(std::shared_ptr<arrow::Array> array, items->Finish());
      arrays.push_back(std::move(array));
    }
    arrow::TypedBufferBuilder<int32_t> offsets;
    arrow::TypedBufferBuilder<bool> bits;
    std::shared_ptr<arrow::Buffer> offset_buffer, validity;
    arrow::Status status = offsets.Append(0);
    int64_t null_count = 0;
    for (size_t i = 0; i < ends_.size() && status.ok(); ++i) {
      status = offsets.Append(ends_[i].end);
      if (status.ok()) status = bits.Append(ends_[i].valid);
      null_count += ends_[i].valid ? 0 : 1;
    }
    if (status.ok()) status = offsets.Finish(&offset_buffer);
    if (status.ok() && null_count > 0) status = bits.Finish(&validity);
    if (!status.ok()) return Fail(ErrorCode::kResourceExhausted, "{}", status.message());
    std::shared_ptr<arrow::ArrayData> child = arrays[0]->data();
    if (arrays.size() == 2) {
      child = arrow::ArrayData::Make(static_cast<const arrow::MapType&>(*type()).value_type(), num_items_, {nullptr},
                                     {arrays[0]->data(), arrays[1]->data()}, 0);
    }
    auto data = arrow::ArrayData::Make(type(), static_cast<int64_t>(ends_.size()), {validity, offset_buffer}, {child},
                                       null_count);
    ends_.clear();
    num_items_ = 0;
    return arrow::MakeArray(data);
  }

 private:
  struct Slot {
    int32_t end;
    bool valid;
  };

  void ReadValue(AvroDecoder& decoder) override {
    if (node().kind == AvroKind::kMap) {
      while (int64_t count = decoder.ReadItemCount(node().children[0]->min_size_bytes + 1)) {
        for (; count > 0 && decoder.ok(); --count) ReadItem(decoder);
      }
    } else {
      decoder.ReadArray(*node().children[0], [&] { ReadItem(decoder); });
    }
    if (decoder.ok()) AppendSlot(true);
  }

  void ReadItem(AvroDecoder& decoder) {
    for (const auto& items : items_) items->Read(decoder);
    if (++num_items_ > std::numeric_limits<int32_t>::max()) {
      decoder.FailWith(ErrorCode::kNotSupported, "lists of more than 2^31 items in one batch");
    }
  }

  void AppendNull(AvroDecoder&) override { AppendSlot(false); }
  void AppendSlot(bool valid) { ends_.push_back({static_cast<int32_t>(num_items_), valid}); }

  std::vector<std::unique_ptr<AvroValueBuilder>> items_;
  std::vector<Slot> ends_;
  int64_t num_items_ = 0;
};

/// Whole numbers, times a factor (milliseconds to microseconds, days to microseconds), as Arrow type `Builder`.
template <typename Builder>
std::unique_ptr<AvroValueBuilder> MakeScaled(const ValueNode& node, const Field& wanted,
                                             std::shared_ptr<arrow::DataType> type, int64_t factor) {
  return MakePrimitive<Builder>(node, wanted, std::move(type),
                                [factor, name = wanted.name](AvroDecoder& decoder, Builder& builder) {
                                  int64_t value = decoder.ReadLong();
                                  if (__builtin_mul_overflow(value, factor, &value)) {
                                    decoder.FailWith(ErrorCode::kCorruptData, "time out of range in column: " + name);
                                  }
                                  return builder.Append(value);
                                });
}

template <typename Builder>
std::unique_ptr<AvroValueBuilder> MakeInt(const ValueNode& node, const Field& wanted,
                                          std::shared_ptr<arrow::DataType> type) {
  return MakePrimitive<Builder>(node, wanted, std::move(type), [](AvroDecoder& decoder, Builder& builder) {
    return builder.Append(decoder.ReadInt());
  });
}

constexpr int64_t kMicrosPerDay = int64_t{86'400} * 1'000'000;

/// What a stored number must be multiplied with to become microseconds (or nanoseconds); 0 when it cannot.
int64_t TimestampFactor(const AvroNode& node, TypeId wanted) {
  const bool wants_nanos = wanted == TypeId::kTimestampNs || wanted == TypeId::kTimestampTzNs;
  const bool has_zone = wanted == TypeId::kTimestampTz || wanted == TypeId::kTimestampTzNs;
  std::string_view unit = node.logical_type;
  if (node.kind == AvroKind::kInt) {  // promoted from date, which has no zone
    return unit == "date" && !has_zone ? kMicrosPerDay * (wants_nanos ? 1000 : 1) : 0;
  }
  if (node.kind != AvroKind::kLong) return 0;
  if (unit.starts_with("local-")) unit.remove_prefix(6);
  if (unit.empty()) return 1;
  if (unit == "timestamp-nanos") return wants_nanos ? 1 : 0;
  if (wants_nanos) return 0;
  if (unit == "timestamp-micros") return 1;
  return unit == "timestamp-millis" ? 1000 : 0;
}

Result<std::unique_ptr<AvroValueBuilder>> MakeText(const ValueNode& node, const Field& wanted,
                                                   std::shared_ptr<arrow::DataType> type) {
  if (node.node->kind == AvroKind::kEnum) {
    return MakePrimitive<arrow::StringBuilder>(
        node, wanted, std::move(type),
        [symbols = node.node->symbols](AvroDecoder& decoder, arrow::StringBuilder& builder) {
          const size_t symbol = decoder.ReadBranch(symbols.size());
          return builder.Append(decoder.ok() ? symbols[symbol] : std::string());
        });
  }
  if (node.node->kind != AvroKind::kString && node.node->kind != AvroKind::kBytes)
    return CannotBecome(wanted, *node.node);
  arrow::util::InitializeUTF8();
  return MakePrimitive<arrow::StringBuilder>(
      node, wanted, std::move(type), [name = wanted.name](AvroDecoder& decoder, arrow::StringBuilder& builder) {
        const std::string_view text = decoder.ReadString();
        if (!arrow::util::ValidateUTF8(text)) {
          decoder.FailWith(ErrorCode::kCorruptData, "text is not UTF-8 in column: " + name);
        }
        return builder.Append(text);
      });
}

Result<std::unique_ptr<AvroValueBuilder>> MakeUuid(const ValueNode& node, const Field& wanted,
                                                   std::shared_ptr<arrow::DataType> type) {
  const bool is_text = node.node->kind == AvroKind::kString;
  if (!is_text && (node.node->kind != AvroKind::kFixed || node.node->fixed_size != 16)) {
    return CannotBecome(wanted, *node.node);
  }
  return MakePrimitive<arrow::FixedSizeBinaryBuilder>(
      node, wanted, std::move(type), [is_text](AvroDecoder& decoder, arrow::FixedSizeBinaryBuilder& builder) {
        std::array<std::byte, 16> bytes{};
        if (is_text) {
          const Result<Uuid> uuid = Uuid::Parse(decoder.ReadString());
          if (uuid) {
            bytes = uuid->bytes();
          } else {
            decoder.FailWith(ErrorCode::kCorruptData, uuid.error().message());
          }
        } else if (const ByteView raw = decoder.ReadFixed(16); decoder.ok()) {
          std::ranges::copy(raw, bytes.begin());
        }
        return builder.Append(reinterpret_cast<const uint8_t*>(bytes.data()));
      });
}

Result<std::unique_ptr<AvroValueBuilder>> MakeDecimal(const ValueNode& node, const Field& wanted,
                                                      std::shared_ptr<arrow::DataType> type) {
  const AvroNode& stored = *node.node;
  const bool fits = (stored.kind == AvroKind::kFixed || stored.kind == AvroKind::kBytes) &&
                    stored.logical_type == "decimal" && stored.scale == wanted.type.scale() &&
                    stored.precision <= wanted.type.precision();
  if (!fits) return CannotBecome(wanted, stored);
  FRAZIL_ASSIGN(format::AvroValueReader read, format::MakeAvroValueReader(stored));
  return MakePrimitive<arrow::Decimal128Builder>(
      node, wanted, std::move(type),
      [read = std::move(read), precision = wanted.type.precision(), name = wanted.name](
          AvroDecoder& decoder, arrow::Decimal128Builder& builder) {
        const spec::Value value = read(decoder);
        const auto* decimal = std::get_if<spec::Decimal>(&value);
        const spec::Int128 unscaled = decimal == nullptr ? 0 : decimal->unscaled;
        const arrow::Decimal128 number(static_cast<int64_t>(unscaled >> 64), static_cast<uint64_t>(unscaled));
        if (!number.FitsInPrecision(precision)) {
          decoder.FailWith(ErrorCode::kCorruptData, "decimal out of range in column: " + name);
        }
        return builder.Append(number);
      });
}

Result<std::unique_ptr<AvroValueBuilder>> MakeForType(const ValueNode& node, const Field& wanted,
                                                      const std::shared_ptr<arrow::DataType>& type) {
  const AvroNode& stored = *node.node;
  switch (wanted.type.id()) {
    case TypeId::kBoolean:
      if (stored.kind != AvroKind::kBoolean) break;
      return MakePrimitive<arrow::BooleanBuilder>(
          node, wanted, type,
          [](AvroDecoder& decoder, arrow::BooleanBuilder& builder) { return builder.Append(decoder.ReadBoolean()); });
    case TypeId::kInt:
      if (stored.kind != AvroKind::kInt) break;
      return MakeInt<arrow::Int32Builder>(node, wanted, type);
    case TypeId::kLong:
      if (stored.kind != AvroKind::kInt && stored.kind != AvroKind::kLong) break;
      return MakeScaled<arrow::Int64Builder>(node, wanted, type, 1);
    case TypeId::kFloat:
      if (stored.kind != AvroKind::kFloat) break;
      return MakePrimitive<arrow::FloatBuilder>(
          node, wanted, type,
          [](AvroDecoder& decoder, arrow::FloatBuilder& builder) { return builder.Append(decoder.ReadFloat()); });
    case TypeId::kDouble:
      if (stored.kind != AvroKind::kFloat && stored.kind != AvroKind::kDouble) break;
      return MakePrimitive<arrow::DoubleBuilder>(
          node, wanted, type,
          [is_float = stored.kind == AvroKind::kFloat](AvroDecoder& decoder, arrow::DoubleBuilder& builder) {
            return builder.Append(is_float ? double{decoder.ReadFloat()} : decoder.ReadDouble());
          });
    case TypeId::kDecimal: return MakeDecimal(node, wanted, type);
    case TypeId::kDate:
      if (stored.kind != AvroKind::kInt || (!stored.logical_type.empty() && stored.logical_type != "date")) break;
      return MakeInt<arrow::Date32Builder>(node, wanted, type);
    case TypeId::kTime: {
      const bool is_millis = stored.kind == AvroKind::kInt && stored.logical_type == "time-millis";
      const bool is_micros =
          stored.kind == AvroKind::kLong && (stored.logical_type.empty() || stored.logical_type == "time-micros");
      if (!is_millis && !is_micros) break;
      return MakeScaled<arrow::Time64Builder>(node, wanted, type, is_millis ? 1000 : 1);
    }
    case TypeId::kTimestamp:
    case TypeId::kTimestampTz:
    case TypeId::kTimestampNs:
    case TypeId::kTimestampTzNs: {
      const int64_t factor = TimestampFactor(stored, wanted.type.id());
      if (factor == 0) break;
      return MakeScaled<arrow::TimestampBuilder>(node, wanted, type, factor);
    }
    case TypeId::kString: return MakeText(node, wanted, type);
    case TypeId::kUuid: return MakeUuid(node, wanted, type);
    case TypeId::kFixed:
      if (stored.kind != AvroKind::kFixed || stored.fixed_size != wanted.type.length()) break;
      return MakePrimitive<arrow::FixedSizeBinaryBuilder>(
          node, wanted, type, [size = stored.fixed_size](AvroDecoder& decoder, arrow::FixedSizeBinaryBuilder& builder) {
            const ByteView raw = decoder.ReadFixed(static_cast<size_t>(size));
            return decoder.ok() ? builder.Append(AsText(raw)) : builder.AppendNull();
          });
    case TypeId::kBinary:
      if (stored.kind != AvroKind::kBytes && stored.kind != AvroKind::kString) break;
      return MakePrimitive<arrow::BinaryBuilder>(node, wanted, type,
                                                 [](AvroDecoder& decoder, arrow::BinaryBuilder& builder) {
                                                   return builder.Append(AsText(decoder.ReadBytes()));
                                                 });
    default: break;
  }
  return CannotBecome(wanted, stored);
}

}  // namespace

const AvroColumn* AvroColumn::Find(spec::FieldId wanted) const {
  const auto found = std::ranges::find(children, std::optional(wanted), &AvroColumn::id);
  return found == children.end() ? nullptr : &*found;
}

bool AvroColumn::HasIds() const { return id.has_value() || std::ranges::any_of(children, &AvroColumn::HasIds); }

bool AvroColumn::Has(spec::FieldId wanted) const {
  return id == wanted || std::ranges::any_of(children, [&](const AvroColumn& child) { return child.Has(wanted); });
}

AvroColumn AvroColumnsOf(const AvroNode& record, const std::map<std::string, spec::FieldId>& name_mapping) {
  const auto build = [&](const std::map<std::string, spec::FieldId>& mapping) {
    AvroColumn root;
    root.node = &record;
    for (const format::AvroField& field : record.fields) {
      root.children.push_back(ColumnOf(*field.type, field.field_id, field.name, "", mapping));
    }
    return root;
  };
  AvroColumn root = build({});
  return root.HasIds() || name_mapping.empty() ? root : build(name_mapping);
}

Result<std::unique_ptr<AvroValueBuilder>> MakeAvroValueBuilder(const AvroColumn& column, const Field& wanted) {
  switch (wanted.type.id()) {
    case TypeId::kVariant:
    case TypeId::kGeometry:
    case TypeId::kGeography:
      return Fail(ErrorCode::kNotSupported, "column {} cannot be read yet, its type is: {}", wanted.name,
                  wanted.type.ToString());
    default: break;
  }
  FRAZIL_ASSIGN(const std::shared_ptr<arrow::DataType> type, format::ArrowTypeOf(wanted.type));
  FRAZIL_ASSIGN(const ValueNode node, ValueNodeOf(*column.node));
  if (node.node == nullptr || wanted.type.id() == TypeId::kUnknown) {
    return std::make_unique<NullsBuilder>(*column.node, wanted);
  }
  const AvroKind kind = node.node->kind;
  if (wanted.type.id() == TypeId::kStruct) {
    if (kind != AvroKind::kRecord) return CannotBecome(wanted, *node.node);
    auto builder = std::make_unique<StructBuilder>(node, wanted, type);
    FRAZIL_TRY(builder->Plan(column));
    return builder;
  }
  if (wanted.type.id() == TypeId::kList || wanted.type.id() == TypeId::kMap) {
    const bool is_map = kind == AvroKind::kMap || IsMapOfRecords(*node.node);
    const bool is_list = kind == AvroKind::kArray && !is_map;
    if (wanted.type.id() == TypeId::kList ? !is_list : !is_map) return CannotBecome(wanted, *node.node);
    auto builder = std::make_unique<RepeatedBuilder>(node, wanted, type);
    FRAZIL_TRY(builder->Plan(column));
    return builder;
  }
  return MakeForType(node, wanted, type);
}

}  // namespace frazil::scan
