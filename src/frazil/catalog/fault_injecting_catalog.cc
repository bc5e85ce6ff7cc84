#include "frazil/catalog/fault_injecting_catalog.h"

#include <algorithm>

#include "frazil/catalog/metadata_file.h"
#include "frazil/catalog/table_places.h"

namespace frazil::catalog {
namespace {

class FaultInjectingCatalog : public Catalog, public TablePlaces {
 public:
  using Decide = std::function<Status(std::string_view operation, const TableName& name)>;

  using AgeOfLoad = std::function<size_t(const TableName& name)>;

  FaultInjectingCatalog(std::shared_ptr<Catalog> inner, Decide decide, AgeOfLoad age_of_load)
      : inner_(std::move(inner)), decide_(std::move(decide)), age_of_load_(std::move(age_of_load)) {}

  const std::string& name() const override { return inner_->name(); }
  std::shared_ptr<io::FileIO> file_io() const override { return inner_->file_io(); }

  Status CreateNamespace(const Namespace& levels, const std::map<std::string, std::string>& properties) override {
    return inner_->CreateNamespace(levels, properties);
  }
  Status DropNamespace(const Namespace& levels) override { return inner_->DropNamespace(levels); }
  Result<std::vector<Namespace>> ListNamespaces(const Namespace& parent) const override {
    return inner_->ListNamespaces(parent);
  }
  Result<std::map<std::string, std::string>> LoadNamespace(const Namespace& levels) const override {
    return inner_->LoadNamespace(levels);
  }
  Status SetNamespaceProperties(const Namespace& levels,
                                const std::map<std::string, std::string>& properties) override {
    return inner_->SetNamespaceProperties(levels, properties);
  }
  Result<std::vector<TableName>> ListTables(const Namespace& levels) const override {
    return inner_->ListTables(levels);
  }

  Result<LoadedTable> CreateTable(const TableName& name, spec::CreateTableRequest request) override {
    FRAZIL_TRY(decide_("create.before", name));
    FRAZIL_ASSIGN(auto table, inner_->CreateTable(name, std::move(request)));
    FRAZIL_TRY(decide_("create.after", name));
    return table;
  }
  Result<std::string> PlaceForNew(const TableName& name) const override { return catalog::PlaceForNew(*inner_, name); }
  Result<LoadedTable> LoadTable(const TableName& name) const override {
    FRAZIL_TRY(decide_("load", name));
    FRAZIL_ASSIGN(LoadedTable newest, inner_->LoadTable(name));
    const size_t age = age_of_load_ ? age_of_load_(name) : 0;
    return age == 0 ? std::move(newest) : Before(std::move(newest), age);
  }
  Result<LoadedTable> CommitTable(const TableName& name, const std::vector<spec::TableRequirement>& requirements,
                                  const std::vector<spec::TableUpdate>& updates) override {
    FRAZIL_TRY(decide_("commit.before", name));
    FRAZIL_ASSIGN(auto table, inner_->CommitTable(name, requirements, updates));
    FRAZIL_TRY(decide_("commit.after", name));
    return table;
  }
  Status DropTable(const TableName& name, bool purge) override { return inner_->DropTable(name, purge); }
  Status RenameTable(const TableName& from, const TableName& to) override { return inner_->RenameTable(from, to); }
  Result<LoadedTable> RegisterTable(const TableName& name, const std::string& metadata_location) override {
    return inner_->RegisterTable(name, metadata_location);
  }

 private:
  LoadedTable Before(LoadedTable newest, size_t age) const {
    const auto& log = newest.metadata->metadata_log;
    if (log.empty()) return newest;
    const std::string& file = log[log.size() - std::min(age, log.size())].metadata_file;
    auto metadata = ReadMetadataFile(*file_io(), file);
    return metadata ? LoadedTable{*std::move(metadata), file} : std::move(newest);
  }

  std::shared_ptr<Catalog> inner_;
  Decide decide_;
  AgeOfLoad age_of_load_;
};

}  // namespace

std::shared_ptr<Catalog> MakeFaultInjectingCatalog(
    std::shared_ptr<Catalog> inner, std::function<Status(std::string_view operation, const TableName& name)> decide,
    std::function<size_t(const TableName& name)> age_of_load) {
  return std::make_shared<FaultInjectingCatalog>(std::move(inner), std::move(decide), std::move(age_of_load));
}

}  // namespace frazil::catalog
