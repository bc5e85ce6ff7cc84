#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "frazil/base/test_support.h"
#include "frazil/catalog/catalog.h"
#include "frazil/catalog/table_places.h"

namespace frazil::test {

/// Passes every call on; a base of catalogs that change one of them.
class ForwardingCatalog : public catalog::Catalog, public catalog::TablePlaces {
 public:
  explicit ForwardingCatalog(std::shared_ptr<catalog::Catalog> inner) : inner_(std::move(inner)) {}

  const std::string& name() const override { return inner_->name(); }
  std::shared_ptr<io::FileIO> file_io() const override { return inner_->file_io(); }
  Status CreateNamespace(const catalog::Namespace& n, const std::map<std::string, std::string>& p) override {
    return inner_->CreateNamespace(n, p);
  }
  Status DropNamespace(const catalog::Namespace& n) override { return inner_->DropNamespace(n); }
  Result<std::vector<catalog::Namespace>> ListNamespaces(const catalog::Namespace& n) const override {
    return inner_->ListNamespaces(n);
  }
  Result<std::map<std::string, std::string>> LoadNamespace(const catalog::Namespace& n) const override {
    return inner_->LoadNamespace(n);
  }
  Status SetNamespaceProperties(const catalog::Namespace& n, const std::map<std::string, std::string>& p) override {
    return inner_->SetNamespaceProperties(n, p);
  }
  Result<std::vector<catalog::TableName>> ListTables(const catalog::Namespace& n) const override {
    return inner_->ListTables(n);
  }
  Result<catalog::LoadedTable> CreateTable(const catalog::TableName& n, spec::CreateTableRequest r) override {
    return inner_->CreateTable(n, std::move(r));
  }
  Result<std::string> PlaceForNew(const catalog::TableName& n) const override {
    return catalog::PlaceForNew(*inner_, n);
  }
  Result<catalog::LoadedTable> LoadTable(const catalog::TableName& n) const override { return inner_->LoadTable(n); }
  Result<catalog::LoadedTable> CommitTable(const catalog::TableName& name,
                                           const std::vector<spec::TableRequirement>& requirements,
                                           const std::vector<spec::TableUpdate>& updates) override {
    return inner_->CommitTable(name, requirements, updates);
  }
  Status DropTable(const catalog::TableName& n, bool purge) override { return inner_->DropTable(n, purge); }
  Status RenameTable(const catalog::TableName& a, const catalog::TableName& b) override {
    return inner_->RenameTable(a, b);
  }
  Result<catalog::LoadedTable> RegisterTable(const catalog::TableName& n, const std::string& l) override {
    return inner_->RegisterTable(n, l);
  }

 private:
  std::shared_ptr<catalog::Catalog> inner_;
};

/// Commits each snapshot with a manifest list of its own in the place of the writer's, as a catalog may: the writer finds
/// its snapshot and cannot say which of its attempts it is.
class RelistingCatalog : public ForwardingCatalog {
 public:
  using ForwardingCatalog::ForwardingCatalog;

  Result<catalog::LoadedTable> CommitTable(const catalog::TableName& name,
                                           const std::vector<spec::TableRequirement>& requirements,
                                           const std::vector<spec::TableUpdate>& updates) override {
    std::vector<spec::TableUpdate> changed = updates;
    for (spec::TableUpdate& update : changed) {
      auto* added = std::get_if<spec::update::AddSnapshot>(&update);
      if (added == nullptr) continue;
      const std::string written = added->snapshot.manifest_list;
      FRAZIL_ASSIGN(const Bytes bytes, file_io()->ReadFile(written));
      added->snapshot.manifest_list = written.substr(0, written.rfind('.')) + "-relisted.avro";
      FRAZIL_TRY(file_io()->WriteFile(added->snapshot.manifest_list, bytes));
      FRAZIL_TRY(file_io()->Delete({written}));
    }
    return ForwardingCatalog::CommitTable(name, requirements, changed);
  }
};

}  // namespace frazil::test
