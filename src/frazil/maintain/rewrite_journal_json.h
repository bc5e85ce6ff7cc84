#pragma once

#include "frazil/base/bytes.h"
#include "frazil/base/result.h"
#include "frazil/base/uuid.h"
#include "frazil/maintain/rewrite_group.h"

namespace frazil::maintain {

// The entry file of a journalled group: JSON in its binary form (CBOR), since bitmaps are bytes. Internal to
// rewrite_journal*.

struct JournalEntry {
  Uuid table_uuid;
  spec::SpecId spec_id{0};  ///< of the outputs
  RewrittenGroup group;     ///< without outputs, and of the sources only what the row map does not hold
};

/// `group` takes the place of the entry's, so that it need not be copied.
Result<Bytes> EncodeJournalEntry(const JournalEntry& entry, const RewrittenGroup& group);
/// kCorruptData (without a path).
Result<JournalEntry> DecodeJournalEntry(ByteView bytes);

}  // namespace frazil::maintain
