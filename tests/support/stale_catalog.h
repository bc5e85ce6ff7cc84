#pragma once

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "frazil/catalog/catalog.h"

namespace frazil::test {

/// A catalog that now and then answers LoadTable with what was true some answers ago, as a replica that lags does. Commits
/// go to the real one. A fake fault on a real catalog. One thread.
class StaleCatalog final : public catalog::Catalog {
 public:
  /// `how_old()`: so many answers back; 0 is the truth.
  StaleCatalog(std::shared_ptr<catalog::Catalog> inner, std::function<size_t()> how_old)
      : inner_(std::move(inner)), how_old_(std::move(how_old)) {}

  Result<catalog::LoadedTable> LoadTable(const catalog::TableName& name) const override {
    FRAZIL_ASSIGN(catalog::LoadedTable now, inner_->LoadTable(name));
    constexpr size_t kKept = 8;
    if (answers_.empty() || answers_.back().metadata_location != now.metadata_location) answers_.push_back(now);
    if (answers_.size() > kKept) answers_.pop_front();
    const size_t age = std::min(how_old_(), answers_.size() - 1);
    return answers_[answers_.size() - 1 - age];
  }

  const std::string& name() const override { return inner_->name(); }
  std::shared_ptr<io::FileIO> file_io() const override { return inner_->file_io(); }
  Status CreateNamespace(const catalog::Namespace& levels,
                         const std::map<std::string, std::string>& properties) override {
    return inner_->CreateNamespace(levels, properties);
  }
  Status DropNamespace(const catalog::Namespace& levels) override { return inner_->DropNamespace(levels); }
  Result<std::vector<catalog::Namespace>> ListNamespaces(const catalog::Namespace& parent) const override {
    return inner_->ListNamespaces(parent);
  }
  Result<std::map<std::string, std::string>> LoadNamespace(const catalog::Namespace& levels) const override {
    return inner_->LoadNamespace(levels);
  }
  Status SetNamespaceProperties(const catalog::Namespace& levels,
                                const std::map<std::string, std::string>& properties) override {
    return inner_->SetNamespaceProperties(levels, properties);
  }
  Result<std::vector<catalog::TableName>> ListTables(const catalog::Namespace& levels) const override {
    return inner_->ListTables(levels);
  }
  Result<catalog::LoadedTable> CreateTable(const catalog::TableName& name, spec::CreateTableRequest request) override {
    return inner_->CreateTable(name, std::move(request));
  }
  Result<catalog::LoadedTable> CommitTable(const catalog::TableName& name,
                                           const std::vector<spec::TableRequirement>& requirements,
                                           const std::vector<spec::TableUpdate>& updates) override {
    return inner_->CommitTable(name, requirements, updates);
  }
  Status DropTable(const catalog::TableName& name, bool purge) override { return inner_->DropTable(name, purge); }
  Status RenameTable(const catalog::TableName& from, const catalog::TableName& to) override {
    return inner_->RenameTable(from, to);
  }
  Result<catalog::LoadedTable> RegisterTable(const catalog::TableName& name,
                                             const std::string& metadata_location) override {
    return inner_->RegisterTable(name, metadata_location);
  }

 private:
  const std::shared_ptr<catalog::Catalog> inner_;
  const std::function<size_t()> how_old_;
  mutable std::deque<catalog::LoadedTable> answers_;
};

}  // namespace frazil::test
