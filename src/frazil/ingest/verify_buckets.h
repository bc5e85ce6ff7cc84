#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <arrow/type_fwd.h>

#include "frazil/base/hash.h"
#include "frazil/base/result.h"

namespace frazil::ingest {

/// Rows divided by the hash of their key, in the order in which they came; in memory, or in a file a bucket once the limit
/// is passed. The files are in a folder of their own, which goes with the object. One thread.
class VerifyBuckets {
 public:
  static constexpr size_t kNumBuckets = 256;
  static size_t BucketOf(const Hash96& hash) { return hash.high >> 56; }

  /// `temp_directory` empty: the system's.
  VerifyBuckets(std::shared_ptr<arrow::Schema> schema, int64_t memory_bytes, const std::string& temp_directory);
  ~VerifyBuckets();
  VerifyBuckets(const VerifyBuckets&) = delete;
  VerifyBuckets& operator=(const VerifyBuckets&) = delete;

  /// `rows` of the schema; `bucket_of` by row, or a negative number for rows to leave out.
  Status Add(const arrow::RecordBatch& rows, const std::vector<int>& bucket_of);

  using Visitor = std::function<Status(const std::shared_ptr<arrow::RecordBatch>& rows)>;
  /// Everything of one bucket, some rows after the other; once for each bucket, after the last Add(). Any thread, as long as
  /// no two take one bucket.
  Status Visit(size_t bucket, const Visitor& visit);
  /// The same as one batch.
  Result<std::shared_ptr<arrow::RecordBatch>> Take(size_t bucket);

 private:
  struct Bucket;
  Status Spill();

  const std::shared_ptr<arrow::Schema> schema_;
  const int64_t memory_bytes_;
  std::string folder_;
  int64_t held_bytes_ = 0;
  std::vector<Bucket> buckets_;
};

}  // namespace frazil::ingest
