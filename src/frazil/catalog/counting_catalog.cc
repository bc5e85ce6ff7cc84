#include "frazil/catalog/counting_catalog.h"

namespace frazil::catalog {
namespace {

class CountingCatalog final : public Catalog {
 public:
  CountingCatalog(std::shared_ptr<Catalog> inner, std::shared_ptr<RequestCounters> counters)
      : inner_(std::move(inner)), counters_(std::move(counters)) {}

  const std::string& name() const override { return inner_->name(); }
  std::shared_ptr<io::FileIO> file_io() const override { return inner_->file_io(); }

  Status CreateNamespace(const Namespace& levels, const std::map<std::string, std::string>& properties) override {
    return Counted(*counters_, "create_namespace", 0, [&] { return inner_->CreateNamespace(levels, properties); });
  }
  Status DropNamespace(const Namespace& levels) override {
    return Counted(*counters_, "drop_namespace", 0, [&] { return inner_->DropNamespace(levels); });
  }
  Result<std::vector<Namespace>> ListNamespaces(const Namespace& parent) const override {
    return Counted(*counters_, "list_namespaces", 0, [&] { return inner_->ListNamespaces(parent); });
  }
  Result<std::map<std::string, std::string>> LoadNamespace(const Namespace& levels) const override {
    return Counted(*counters_, "load_namespace", 0, [&] { return inner_->LoadNamespace(levels); });
  }
  Status SetNamespaceProperties(const Namespace& levels,
                                const std::map<std::string, std::string>& properties) override {
    return Counted(*counters_, "set_namespace_properties", 0,
                   [&] { return inner_->SetNamespaceProperties(levels, properties); });
  }
  Result<std::vector<TableName>> ListTables(const Namespace& levels) const override {
    return Counted(*counters_, "list_tables", 0, [&] { return inner_->ListTables(levels); });
  }
  Result<LoadedTable> CreateTable(const TableName& name, spec::CreateTableRequest request) override {
    return Counted(*counters_, "create_table", 0, [&] { return inner_->CreateTable(name, std::move(request)); });
  }
  Result<LoadedTable> LoadTable(const TableName& name) const override {
    return Counted(*counters_, "load_table", 0, [&] { return inner_->LoadTable(name); });
  }
  Result<LoadedTable> CommitTable(const TableName& name, const std::vector<spec::TableRequirement>& requirements,
                                  const std::vector<spec::TableUpdate>& updates) override {
    return Counted(*counters_, "commit_table", 0, [&] { return inner_->CommitTable(name, requirements, updates); });
  }
  Status DropTable(const TableName& name, bool purge) override {
    return Counted(*counters_, "drop_table", 0, [&] { return inner_->DropTable(name, purge); });
  }
  Status RenameTable(const TableName& from, const TableName& to) override {
    return Counted(*counters_, "rename_table", 0, [&] { return inner_->RenameTable(from, to); });
  }
  Result<LoadedTable> RegisterTable(const TableName& name, const std::string& metadata_location) override {
    return Counted(*counters_, "register_table", 0, [&] { return inner_->RegisterTable(name, metadata_location); });
  }

 private:
  const std::shared_ptr<Catalog> inner_;
  const std::shared_ptr<RequestCounters> counters_;
};

}  // namespace

std::shared_ptr<Catalog> MakeCountingCatalog(std::shared_ptr<Catalog> inner,
                                             std::shared_ptr<RequestCounters> counters) {
  return std::make_shared<CountingCatalog>(std::move(inner), std::move(counters));
}

}  // namespace frazil::catalog
