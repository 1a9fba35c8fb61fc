// A JSON Schema validator for the keywords that the project's schema uses. A keyword it does not know is an error, so that
// the schema never says something that no test looks at.
#pragma once

#include <regex>
#include <set>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace isa_audit::test {

class SchemaValidator {
public:
  explicit SchemaValidator(nlohmann::json schema) : root_(std::move(schema)) {}

  // One line for each thing that is wrong, empty when the document is valid.
  std::vector<std::string> errors(const nlohmann::json &document) {
    errors_.clear();
    check(root_, document, "$");
    return errors_;
  }

private:
  using Json = nlohmann::json;

  void fail(const std::string &at, const std::string &what) { errors_.push_back(at + ": " + what); }

  static bool is_type(const std::string &type, const Json &value) {
    if (type == "integer") return value.is_number_integer();
    if (type == "number") return value.is_number();
    return type == value.type_name();
  }

  void check_type(const Json &types, const Json &value, const std::string &at) {
    bool ok = false;
    for (const Json &type : types.is_array() ? types : Json::array({types})) ok |= is_type(type.get<std::string>(), value);
    if (!ok) fail(at, "is " + std::string(value.type_name()) + ", not " + types.dump());
  }

  void check_object(const Json &schema, const Json &value, const std::string &at) {
    for (const Json &name : schema.value("required", Json::array()))
      if (!value.contains(name.get<std::string>())) fail(at, "lacks " + name.dump());
    const Json properties = schema.value("properties", Json::object());
    for (const auto &[name, member] : value.items()) {
      std::string inside = at + "." + name;
      if (properties.contains(name))
        check(properties[name], member, inside);
      else if (schema.contains("additionalProperties"))
        check_additional(schema["additionalProperties"], member, inside);
    }
  }

  void check_additional(const Json &schema, const Json &value, const std::string &at) {
    if (schema.is_boolean()) {
      if (!schema.get<bool>()) fail(at, "is not in the schema");
    } else {
      check(schema, value, at);
    }
  }

  void check(const Json &schema, const Json &value, const std::string &at) {
    static const std::set<std::string> known = {
        "$schema", "$id",     "$defs",    "title",      "description",          "$ref", "type", "const", "enum",
        "pattern", "minimum", "required", "properties", "additionalProperties", "items"};
    for (const auto &[keyword, unused] : schema.items())
      if (!known.contains(keyword)) fail(at, "the schema uses " + keyword + ", which is not checked");
    if (schema.contains("$ref")) {
      std::string pointer = schema["$ref"].get<std::string>().substr(1);
      return check(root_.at(Json::json_pointer(pointer)), value, at);
    }
    if (schema.contains("type")) check_type(schema["type"], value, at);
    if (schema.contains("const") && schema["const"] != value) fail(at, "is " + value.dump());
    if (schema.contains("enum")) {
      bool ok = false;
      for (const Json &choice : schema["enum"]) ok |= choice == value;
      if (!ok) fail(at, value.dump() + " is none of " + schema["enum"].dump());
    }
    if (schema.contains("pattern") && value.is_string() &&
        !std::regex_search(value.get<std::string>(), std::regex(schema["pattern"].get<std::string>())))
      fail(at, value.dump() + " does not match");
    if (schema.contains("minimum") && value.is_number() && value < schema["minimum"]) fail(at, "is too small");
    if (value.is_object()) check_object(schema, value, at);
    if (value.is_array() && schema.contains("items"))
      for (size_t i = 0; i < value.size(); ++i) check(schema["items"], value[i], at + "[" + std::to_string(i) + "]");
  }

  Json root_;
  std::vector<std::string> errors_;
};

} // namespace isa_audit::test
