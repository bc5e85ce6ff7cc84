#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "frazil/format/avro_decoder.h"

namespace frazil::format {

/// Reads one value into an object. Failures stick to the decoder.
template <typename T>
using AvroReader = std::function<void(AvroDecoder&, T&)>;

/// A field that we want out of a record, found by its id.
template <typename T>
struct AvroTarget {
  int32_t id;
  std::string name;  ///< for messages, and for records that carry no ids
  bool required;
  /// Makes the reader for the type that the file has; kInvalidTable when it does not fit.
  std::function<Result<AvroReader<T>>(const AvroNode&)> bind;
};

/// Reads records of a given writer's schema into objects: fields are resolved by id, those nobody asked for are passed
/// over by the writer's schema, absent and null optional ones leave their member alone (spec section 3.1).
///
/// Keeps pointers into the schema, which must outlive it. Const calls are safe from any thread.
template <typename T>
class AvroProjection {
 public:
  /// kInvalidTable naming the field when a required one is absent, one is there twice, or a type does not fit.
  static Result<AvroProjection> Make(const AvroNode& record, const std::vector<AvroTarget<T>>& targets);

  void Read(AvroDecoder& decoder, T& out) const;

 private:
  struct Step {
    const AvroNode* node = nullptr;  ///< as written: perhaps a union
    AvroReader<T> read;              ///< empty: pass over
    std::string name;
    bool required = false;
    size_t value_branch = 0;  ///< of a union
  };
  static Status Bind(const AvroTarget<T>& target, const AvroNode& node, Step& step);

  std::vector<Step> steps_;
};

inline tl::unexpected<Error> WrongAvroType(std::string_view wanted, const AvroNode& node) {
  return Fail(ErrorCode::kInvalidTable, "Avro type must be {}, but is: {}", wanted, AvroKindName(node.kind));
}

template <typename T>
Result<AvroProjection<T>> AvroProjection<T>::Make(const AvroNode& record, const std::vector<AvroTarget<T>>& targets) {
  if (record.kind != AvroKind::kRecord) return WrongAvroType("record", record);
  AvroProjection projection;
  std::vector<bool> found(targets.size());
  for (const AvroField& field : record.fields) {
    Step step;
    step.node = field.type.get();
    for (size_t i = 0; i < targets.size(); ++i) {
      const AvroTarget<T>& target = targets[i];
      if (field.field_id ? *field.field_id != target.id : field.name != target.name) continue;
      if (found[i])
        return Fail(ErrorCode::kInvalidTable, "Avro record has a field twice: {} (id {})", target.name, target.id);
      found[i] = true;
      if (Status status = Bind(target, *field.type, step); !status) {
        return tl::unexpected(
            std::move(status).error().WithContext(fmt::format("field {} (id {})", target.name, target.id)));
      }
    }
    projection.steps_.push_back(std::move(step));
  }
  for (size_t i = 0; i < targets.size(); ++i) {
    if (targets[i].required && !found[i]) {
      return Fail(ErrorCode::kInvalidTable, "Avro record lacks a required field: {} (id {})", targets[i].name,
                  targets[i].id);
    }
  }
  return projection;
}

template <typename T>
Status AvroProjection<T>::Bind(const AvroTarget<T>& target, const AvroNode& node, Step& step) {
  step.name = target.name;
  step.required = target.required;
  const AvroNode* value = &node;
  if (node.kind == AvroKind::kUnion) {
    value = nullptr;
    for (size_t i = 0; i < node.children.size(); ++i) {
      if (node.children[i]->kind == AvroKind::kNull) continue;
      if (value != nullptr) return Fail(ErrorCode::kNotSupported, "Avro union of several types");
      value = node.children[i].get();
      step.value_branch = i;
    }
  }
  // A field of type null: always absent, as if it were not in the record.
  if (value == nullptr || value->kind == AvroKind::kNull) {
    if (target.required) return Fail(ErrorCode::kInvalidTable, "required Avro field of type null");
    return {};
  }
  FRAZIL_ASSIGN(step.read, target.bind(*value));
  return {};
}

template <typename T>
void AvroProjection<T>::Read(AvroDecoder& decoder, T& out) const {
  for (const Step& step : steps_) {
    if (!decoder.ok()) return;
    if (!step.read) {
      decoder.Skip(*step.node);
      continue;
    }
    if (step.node->kind == AvroKind::kUnion && decoder.ReadBranch(step.node->children.size()) != step.value_branch) {
      if (step.required) decoder.FailWith(ErrorCode::kInvalidTable, "required field is null: " + step.name);
      continue;
    }
    step.read(decoder, out);
  }
}

// Targets of the plain kinds. `set(out, value)` stores the value, or `set(decoder, out, value)` when it may refuse it.

template <typename T, typename Value, typename Set>
void StoreAvroValue(AvroDecoder& decoder, T& out, Value value, const Set& set) {
  if constexpr (std::is_invocable_v<const Set&, AvroDecoder&, T&, Value>) {
    if (decoder.ok()) set(decoder, out, value);
  } else {
    set(out, value);
  }
}

template <typename T, typename Set>
AvroTarget<T> AvroIntTarget(int32_t id, std::string name, bool required, Set set) {
  return {id, std::move(name), required, [set](const AvroNode& node) -> Result<AvroReader<T>> {
            if (node.kind != AvroKind::kInt && node.kind != AvroKind::kLong) return WrongAvroType("int", node);
            return [set](AvroDecoder& decoder, T& out) { StoreAvroValue(decoder, out, decoder.ReadInt(), set); };
          }};
}

template <typename T, typename Set>
AvroTarget<T> AvroLongTarget(int32_t id, std::string name, bool required, Set set) {
  return {id, std::move(name), required, [set](const AvroNode& node) -> Result<AvroReader<T>> {
            if (node.kind != AvroKind::kInt && node.kind != AvroKind::kLong) return WrongAvroType("long", node);
            return [set](AvroDecoder& decoder, T& out) { StoreAvroValue(decoder, out, decoder.ReadLong(), set); };
          }};
}

template <typename T, typename Set>
AvroTarget<T> AvroBooleanTarget(int32_t id, std::string name, bool required, Set set) {
  return {id, std::move(name), required, [set](const AvroNode& node) -> Result<AvroReader<T>> {
            if (node.kind != AvroKind::kBoolean) return WrongAvroType("boolean", node);
            return [set](AvroDecoder& decoder, T& out) { StoreAvroValue(decoder, out, decoder.ReadBoolean(), set); };
          }};
}

/// Text and bytes look alike in Avro; some writers mix them up.
template <typename T, typename Set>
AvroTarget<T> AvroBytesTarget(int32_t id, std::string name, bool required, Set set) {
  return {id, std::move(name), required, [set](const AvroNode& node) -> Result<AvroReader<T>> {
            if (node.kind != AvroKind::kBytes && node.kind != AvroKind::kString)
              return WrongAvroType("bytes or string", node);
            return [set](AvroDecoder& decoder, T& out) { StoreAvroValue(decoder, out, decoder.ReadBytes(), set); };
          }};
}

/// A nested record, read into the member that `get(out)` refers to.
template <typename T, typename Nested, typename Get>
AvroTarget<T> AvroRecordTarget(int32_t id, std::string name, bool required, std::vector<AvroTarget<Nested>> targets,
                               Get get) {
  return {id, std::move(name), required,
          [targets = std::move(targets), get](const AvroNode& node) -> Result<AvroReader<T>> {
            FRAZIL_ASSIGN(auto projection, AvroProjection<Nested>::Make(node, targets));
            return [projection = std::move(projection), get](AvroDecoder& decoder, T& out) {
              projection.Read(decoder, get(out));
            };
          }};
}

/// An array of records (also the form of maps with int keys); `add(decoder, out, item)` stores each.
template <typename T, typename Item, typename Add>
AvroTarget<T> AvroRecordsTarget(int32_t id, std::string name, std::vector<AvroTarget<Item>> targets, Add add) {
  return {id, std::move(name), false,
          [targets = std::move(targets), add](const AvroNode& node) -> Result<AvroReader<T>> {
            if (node.kind != AvroKind::kArray) return WrongAvroType("array", node);
            const AvroNode* item_node = node.children[0].get();
            FRAZIL_ASSIGN(auto projection, AvroProjection<Item>::Make(*item_node, targets));
            return [projection = std::move(projection), item_node, add](AvroDecoder& decoder, T& out) {
              decoder.ReadArray(*item_node, [&] {
                Item item;
                projection.Read(decoder, item);
                if (decoder.ok()) add(out, std::move(item));
              });
            };
          }};
}

/// An array of int or long.
template <typename T, typename Add>
AvroTarget<T> AvroLongsTarget(int32_t id, std::string name, Add add) {
  return {id, std::move(name), false, [add](const AvroNode& node) -> Result<AvroReader<T>> {
            if (node.kind != AvroKind::kArray) return WrongAvroType("array", node);
            const AvroNode* item = node.children[0].get();
            if (item->kind != AvroKind::kInt && item->kind != AvroKind::kLong)
              return WrongAvroType("array of long", *item);
            return [item, add](AvroDecoder& decoder, T& out) {
              decoder.ReadArray(*item, [&] {
                int64_t value = decoder.ReadLong();
                if (decoder.ok()) add(decoder, out, value);
              });
            };
          }};
}

}  // namespace frazil::format
