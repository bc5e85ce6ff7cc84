#include <algorithm>

#include "frazil/ingest/avro_cast.h"
#include "frazil/ingest/avro_iceberg_type.h"
#include "frazil/ingest/avro_plan.h"

namespace frazil::ingest {
namespace {

using format::AvroField;
using format::AvroKind;
using format::AvroNode;
using spec::Field;
using spec::TypeId;
using Code = AvroOp::Code;

bool HasPath(const AvroNode& node, std::string_view path) {
  if (path.empty()) return true;
  const auto written = WithoutNull(node, "");
  if (!written || written->node->kind != AvroKind::kRecord) return false;
  const PathStep step = FirstStep(path);
  const auto found = FindByName(written->node->fields, step.name);
  return found && HasPath(*written->node->fields[*found].type, step.rest);
}

std::string Joined(const std::string& path, const std::string& name) { return path.empty() ? name : path + "." + name; }

AvroOp OpFor(Code code, const AvroNode& node, const AvroOptional& written) {
  AvroOp op;
  op.code = written.node->kind == AvroKind::kNull ? Code::kNull : code;
  op.node = written.node;
  op.is_union = written.is_union;
  op.is_nullable = written.is_nullable;
  op.value_branch = written.value_branch;
  op.num_branches = node.children.size();
  op.is_special = written.is_union;
  return op;
}

AvroOp SkipOp(const AvroNode& node) {
  AvroOp op;
  op.node = &node;
  return op;
}

/// A column that is wanted from somewhere below: `rest` of its path.
struct Wanted {
  const ColumnBinding* binding;
  std::string_view rest;
};

class Compiler {
 public:
  explicit Compiler(const AvroGrowth& growth) : growth_(growth) {}

  /// All that is wanted of one value: as a whole, or of the record that it is.
  Result<std::vector<AvroOp>> Ops(const AvroNode& node, const std::string& path, const std::vector<Wanted>& wanted);
  Status MakeOptional(const std::string& column) {
    changes_.push_back({.kind = ColumnChange::Kind::kMakeOptional, .column = column, .field = {}});
    return {};
  }
  std::vector<ColumnChange> TakeChanges() { return std::move(changes_); }

 private:
  /// A column of the table or a field below one, from the whole of a value.
  struct Target {
    const Field& field;
    ColumnBuffer* column;
    const std::string& name;
    bool stays_required = false;
    ColumnBuffer* child(size_t i) const { return column == nullptr ? nullptr : &column->child(i); }
  };

  Result<AvroOp> Enter(const AvroNode& node, const std::string& path, const std::vector<Wanted>& wanted);
  Result<AvroOp> Column(const AvroNode& node, const std::string& path, const Target& target);
  Status Primitive(const AvroNode& writer, const std::string& path, const Target& target, AvroOp& op);
  Status Struct(const AvroNode& writer, const std::string& path, const Target& target, AvroOp& op);
  Status Child(const AvroNode& item, const std::string& path, const Target& target, size_t child, AvroOp& op);
  Status Add(const AvroField& field, const std::string& path, const std::string& parent);

  const AvroGrowth& growth_;
  std::vector<ColumnChange> changes_;
};

tl::unexpected<Error> DoesNotFit(const std::string& path, const std::string& written, const std::string& column,
                                 const Field& field) {
  return Fail(ErrorCode::kInvalidArgument, "Avro field '{}' of type {} does not fit column '{}' of type {}", path,
              written, column, field.type.ToString());
}

Result<std::vector<AvroOp>> Compiler::Ops(const AvroNode& node, const std::string& path,
                                          const std::vector<Wanted>& wanted) {
  std::vector<AvroOp> ops;
  std::vector<Wanted> deeper;
  for (const Wanted& one : wanted) {
    if (!one.rest.empty()) {
      deeper.push_back(one);
      continue;
    }
    const ColumnBinding& binding = *one.binding;
    const Target target{*binding.field, binding.column, binding.field->name, binding.is_identifier};
    FRAZIL_ASSIGN(AvroOp op, Column(node, path, target));
    op.only_if_missing = binding.only_if_missing;
    op.is_special = op.is_special || op.only_if_missing;
    ops.push_back(std::move(op));
  }
  // Of the record at the top the fields that nobody wants count as well: they may become columns.
  if (!deeper.empty() || (wanted.empty() && path.empty())) {
    FRAZIL_ASSIGN(AvroOp op, Enter(node, path, deeper));
    ops.push_back(std::move(op));
  }
  if (ops.empty()) ops.push_back(SkipOp(node));
  for (size_t i = 0; i + 1 < ops.size(); ++i) ops[i].rewinds = ops[i].is_special = true;
  return ops;
}

Result<AvroOp> Compiler::Enter(const AvroNode& node, const std::string& path, const std::vector<Wanted>& wanted) {
  FRAZIL_ASSIGN(const AvroOptional written, WithoutNull(node, path));
  if (written.node->kind != AvroKind::kRecord) return SkipOp(node);
  AvroOp op = OpFor(Code::kEnter, node, written);
  for (size_t i = 0; i < written.node->fields.size(); ++i) {
    const AvroField& field = written.node->fields[i];
    const std::string name = Joined(path, field.name);
    std::vector<Wanted> here;
    for (const Wanted& one : wanted) {
      const PathStep step = FirstStep(one.rest);
      if (FindByName(written.node->fields, step.name) == i) here.push_back({one.binding, step.rest});
    }
    if (here.empty()) {
      if (path.empty()) FRAZIL_TRY(Add(field, name, ""));
      op.children.push_back(SkipOp(*field.type));
      continue;
    }
    FRAZIL_ASSIGN(std::vector<AvroOp> ops, Ops(*field.type, name, here));
    std::move(ops.begin(), ops.end(), std::back_inserter(op.children));
  }
  return op;
}

Result<AvroOp> Compiler::Column(const AvroNode& node, const std::string& path, const Target& target) {
  FRAZIL_ASSIGN(const AvroOptional written, WithoutNull(node, path));
  AvroOp op = OpFor(Code::kSkip, node, written);
  op.column = target.column;
  if (written.is_nullable && target.field.required && !target.stays_required) FRAZIL_TRY(MakeOptional(target.name));
  const TypeId wanted = target.field.type.id();
  switch (written.node->kind) {
    case AvroKind::kNull: return op;
    case AvroKind::kRecord:
      if (wanted != TypeId::kStruct) return DoesNotFit(path, "record", target.name, target.field);
      FRAZIL_TRY(Struct(*written.node, path, target, op));
      return op;
    case AvroKind::kArray:
      if (wanted != TypeId::kList) return DoesNotFit(path, "array", target.name, target.field);
      op.code = Code::kList;
      FRAZIL_TRY(Child(*written.node->children[0], path + ".element", target, 0, op));
      return op;
    case AvroKind::kMap:
      if (wanted != TypeId::kMap || target.field.type.key().type.id() != TypeId::kString) {
        return DoesNotFit(path, "map", target.name, target.field);
      }
      op.code = Code::kMap;
      FRAZIL_TRY(Child(*written.node->children[0], path + ".value", target, 1, op));
      return op;
    default: FRAZIL_TRY(Primitive(*written.node, path, target, op)); return op;
  }
}

Status Compiler::Primitive(const AvroNode& writer, const std::string& path, const Target& target, AvroOp& op) {
  FRAZIL_ASSIGN(const spec::Type type, IcebergTypeFor(writer, path));
  const AvroCast cast = CastOf(writer, type, target.field.type);
  if (cast.wider) {
    Field wider = target.field;
    wider.type = *cast.wider;
    changes_.push_back({.kind = ColumnChange::Kind::kWiden, .column = target.name, .field = std::move(wider)});
    return {};
  }
  if (!cast.code) return DoesNotFit(path, type.ToString(), target.name, target.field);
  op.code = *cast.code;
  op.factor = cast.factor;
  return {};
}

Status Compiler::Struct(const AvroNode& writer, const std::string& path, const Target& target, AvroOp& op) {
  op.code = Code::kStruct;
  const std::vector<Field>& members = target.field.type.fields();
  std::vector<bool> is_written(members.size());
  for (const AvroField& field : writer.fields) {
    const std::string field_path = Joined(path, field.name);
    const auto member = FindByName(members, field.name);
    if (!member || is_written[*member]) {
      if (!member) FRAZIL_TRY(Add(field, field_path, target.name));
      op.children.push_back(SkipOp(*field.type));
      continue;
    }
    is_written[*member] = true;
    const std::string name = target.name + "." + members[*member].name;
    FRAZIL_ASSIGN(AvroOp child,
                  Column(*field.type, field_path, {members[*member], target.child(*member), name, false}));
    op.children.push_back(std::move(child));
  }
  for (size_t i = 0; i < members.size(); ++i) {
    if (is_written[i]) continue;
    if (members[i].required && spec::IsNull(members[i].write_default)) {
      FRAZIL_TRY(MakeOptional(target.name + "." + members[i].name));
    }
    AvroOp fill;
    fill.code = Code::kFill;
    fill.column = target.child(i);
    op.children.push_back(std::move(fill));
  }
  return {};
}

Status Compiler::Child(const AvroNode& item, const std::string& path, const Target& target, size_t child, AvroOp& op) {
  const Field& field = target.field.type.fields()[child];
  const std::string name = target.name + "." + field.name;
  FRAZIL_ASSIGN(AvroOp below, Column(item, path, {field, target.child(child), name, false}));
  op.children.push_back(std::move(below));
  return {};
}

Status Compiler::Add(const AvroField& field, const std::string& path, const std::string& parent) {
  if (!growth_.adds_columns) return {};
  const auto& ignored = growth_.ignored_fields;
  if (std::any_of(ignored.begin(), ignored.end(), [&](const auto& name) { return spec::EqualsAnyCase(name, path); })) {
    return {};
  }
  FRAZIL_ASSIGN(const AvroOptional written, WithoutNull(*field.type, path));
  if (written.node->kind == AvroKind::kNull) return {};  // no type yet
  Field added;
  added.name = field.name;
  FRAZIL_ASSIGN(added.type, IcebergTypeFor(*written.node, path));
  FRAZIL_ASSIGN(added.write_default, AvroDefault(field, added.type, path));
  if (!field.doc.empty()) added.doc = field.doc;
  changes_.push_back({.kind = ColumnChange::Kind::kAdd, .column = parent, .field = std::move(added)});
  return {};
}

}  // namespace

Result<CompiledAvro> CompileAvroPlan(format::AvroNodePtr writer, const std::vector<ColumnBinding>& bindings,
                                     const AvroGrowth& growth) {
  Compiler compiler(growth);
  CompiledAvro compiled;
  std::vector<Wanted> wanted;
  for (const ColumnBinding& binding : bindings) {
    if (HasPath(*writer, binding.path)) {
      wanted.push_back({&binding, binding.path});
    } else if (!binding.other_path.empty() && HasPath(*writer, binding.other_path)) {
      wanted.push_back({&binding, binding.other_path});
    } else {
      compiled.has_every_field = false;
      if (binding.is_identifier || !binding.field->required || !spec::IsNull(binding.field->write_default)) continue;
      FRAZIL_TRY(compiler.MakeOptional(binding.field->name));
    }
  }
  FRAZIL_ASSIGN(std::vector<AvroOp> ops, compiler.Ops(*writer, "", wanted));
  compiled.changes = compiler.TakeChanges();
  compiled.plan = std::make_unique<AvroPlan>(std::move(writer), std::move(ops));
  return compiled;
}

}  // namespace frazil::ingest
