#include "frazil/ingest/schema_fit.h"

#include <fmt/format.h>

namespace frazil::ingest {
namespace {

tl::unexpected<Error> DoesNotFit(std::string what) {
  return tl::unexpected(Error(ErrorCode::kFenced, "the table changed while a batch was being written: " + what)
                            .WithHint("run the command again to continue with the table as it is now"));
}

/// A promotion of section 6.2 that readers do by themselves.
bool IsPromotion(const spec::Type& from, const spec::Type& to) {
  using spec::TypeId;
  if (from.id() == TypeId::kInt) return to.id() == TypeId::kLong;
  if (from.id() == TypeId::kFloat) return to.id() == TypeId::kDouble;
  return from.id() == TypeId::kDecimal && to.id() == TypeId::kDecimal && from.scale() == to.scale() &&
         from.precision() <= to.precision();
}

bool HasSameShape(const spec::Type& written, const spec::Type& now) {
  if (written.is_primitive() != now.is_primitive()) return false;
  // Of nested types only the kind counts here: what is in them is compared under its own id.
  if (!written.is_primitive()) return written.id() == now.id();
  return written == now || IsPromotion(written, now);
}

}  // namespace

Status CheckRowsFit(const spec::Schema& written, const spec::TableMetadata& base) {
  const spec::Schema& now = *base.schema();
  if (base.format_version < 3) return DoesNotFit(fmt::format("format version {}", base.format_version));
  if (now.identifier_field_ids() != written.identifier_field_ids()) return DoesNotFit("other identifier fields");
  if (now.SameAs(written) && base.default_spec().is_unpartitioned()) return {};
  for (const auto& [field, name] : now.AllFields()) {
    const spec::Field* ours = written.FindField(field->id);
    if (ours == nullptr) {
      if (field->required && spec::IsNull(field->initial_default))
        return DoesNotFit("a required column was added: " + name);
      continue;
    }
    if (!HasSameShape(ours->type, field->type)) return DoesNotFit("another type: " + name);
    if (field->required && !ours->required) return DoesNotFit("a column must not be null any more: " + name);
  }
  for (const spec::PartitionField& field : base.default_spec().fields()) {
    if (field.transform.kind() == spec::Transform::Kind::kVoid) continue;
    if (written.FindField(field.source_id) == nullptr) {
      return DoesNotFit("it is partitioned by a column that the rows do not have: " + field.name);
    }
  }
  return {};
}

}  // namespace frazil::ingest
