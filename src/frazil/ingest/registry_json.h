#pragma once

#include <string>

#include "frazil/base/result.h"
#include "frazil/ingest/schema_registry.h"

namespace frazil::ingest {

// Bodies of a schema registry's requests and answers.

/// A schema as `/schemas/ids/N` and `/subjects/S/versions/V` give it. kInvalidArgument when it is none.
Result<RegisteredSchema> ParseRegisteredSchema(const std::string& body);
std::string WriteSchemaJson(const RegisteredSchema& schema);
/// `{"id": N}`
Result<int32_t> ParseSchemaId(const std::string& body);
/// The registry's own words for a failure, on one line and short; empty when the body has none.
std::string ErrorMessageOf(const std::string& body);
/// A failure as registries tell it, `{"error_code": 40403, ...}`: what a proxy or another server answers says nothing about
/// schemas.
bool IsRegistryError(const std::string& body);

}  // namespace frazil::ingest
