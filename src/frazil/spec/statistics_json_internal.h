#pragma once

#include "frazil/spec/json_access.h"
#include "frazil/spec/table_metadata.h"

namespace frazil::spec {

// Internal to the *_json.cc files of this module. Failures of *FromJson are kInvalidTable naming member and object.

/// Spec section 1.8.
OrderedJson StatisticsFileToJson(const StatisticsFile& file);
Result<StatisticsFile> StatisticsFileFromJson(const Json& json);

/// Spec section 1.9.
OrderedJson PartitionStatisticsFileToJson(const PartitionStatisticsFile& file);
Result<PartitionStatisticsFile> PartitionStatisticsFileFromJson(const Json& json);

/// Spec section 1.10.
OrderedJson EncryptedKeyToJson(const EncryptedKey& key);
Result<EncryptedKey> EncryptedKeyFromJson(const Json& json);

}  // namespace frazil::spec
