#pragma once

#include "frazil/sql/lexical_grammar.h"

// The grammar of the statements that define and show namespaces, tables and the session (Spark's, with the Iceberg
// extensions; spec section 6.8); included by definition_parser.cc alone. As in statement_grammar.h, what must follow once
// the leading keywords have matched is said with its place when it does not.

namespace frazil::sql::grammar::definition {

// A grammar reads by its own lines.
// clang-format off

// --- namespaces -------------------------------------------------------------------------------------------------------

struct namespace_word : peg::sor<k_namespace, k_database, k_schema> {};
struct namespaces_word : peg::sor<k_namespaces, k_databases, k_schemas> {};
struct properties_word : peg::sor<k_dbproperties, k_properties> {};
struct with_properties : peg::seq<k_with, peg::must<properties_word>, peg::must<property_list>> {};
struct create_namespace : peg::seq<k_create, namespace_word, peg::opt<if_not_exists>, peg::must<table_name>,
                                   peg::star<peg::sor<comment_clause, location_clause, with_properties>>> {};
struct cascade : k_cascade {};
struct drop_namespace : peg::seq<k_drop, namespace_word, peg::opt<if_exists>, peg::must<table_name>,
                                 peg::opt<peg::sor<cascade, k_restrict>>> {};
struct set_namespace_properties : peg::seq<k_alter, namespace_word, peg::must<table_name>, peg::must<k_set>,
                                           peg::must<properties_word>, peg::must<property_list>> {};

// --- SHOW, DESCRIBE, USE ------------------------------------------------------------------------------------------------

struct in_namespace : peg::seq<peg::sor<k_in, k_from>, peg::must<table_name>> {};
struct like_pattern : peg::sor<peg::seq<k_like, peg::must<text>>, text> {};
struct show_namespaces : peg::seq<k_show, namespaces_word, peg::opt<in_namespace>, peg::opt<like_pattern>> {};
struct show_tables : peg::seq<k_show, k_tables, peg::opt<in_namespace>, peg::opt<like_pattern>> {};
struct show_create_table : peg::seq<k_show, k_create, k_table, peg::must<table_name>> {};
struct wanted_property : peg::seq<symbol<'('>, peg::must<property_key>, must_symbol<')'>> {};
struct show_properties : peg::seq<k_show, k_tblproperties, peg::must<table_name>, peg::opt<wanted_property>> {};
struct in_word : peg::sor<k_in, k_from> {};
struct show_columns : peg::seq<k_show, k_columns, peg::must<in_word>, peg::must<table_name>, peg::opt<in_namespace>> {};
struct show_partitions : peg::seq<k_show, k_partitions, peg::must<table_name>> {};
struct extended : peg::sor<k_extended, k_formatted> {};
struct describe_word : peg::sor<k_describe, k_desc> {};
struct describe_namespace : peg::seq<describe_word, namespace_word, peg::opt<extended>, peg::must<table_name>> {};
struct described_column : table_name {};
struct describe_table
    : peg::seq<describe_word, peg::not_at<peg::sor<k_select, k_with, k_values, k_from, k_insert, symbol<'('>>>,
               peg::not_at<k_history, name>, peg::opt<k_table>, peg::opt<extended>, peg::must<table_name>,
               peg::opt<described_column>> {};
struct describe_history : peg::seq<describe_word, k_history, peg::at<name>, peg::must<table_name>> {};
struct use_namespace : peg::seq<k_use, peg::opt<namespace_word>, peg::must<table_name>> {};

// --- ALTER TABLE: columns -----------------------------------------------------------------------------------------------

struct first : k_first {};
struct after : peg::seq<k_after, peg::must<name>> {};
struct position : peg::sor<first, after> {};
struct added_column : peg::seq<table_name, required_type,
                               peg::star<peg::sor<not_null, column_comment, default_value, position>>> {};
struct added_columns : peg::list<added_column, symbol<','>> {};
struct column_word : peg::sor<k_columns, k_column> {};
struct added_list : peg::sor<peg::seq<symbol<'('>, peg::must<added_columns>, must_symbol<')'>>, added_columns> {};
struct add_columns : peg::seq<k_add, column_word, peg::must<added_list>> {};
struct replacing_column : peg::seq<name, required_type, peg::star<peg::sor<not_null, column_comment, default_value>>> {};
struct replacing_columns : peg::seq<symbol<'('>, peg::list<replacing_column, symbol<','>>, must_symbol<')'>> {};
struct replace_columns : peg::seq<k_replace, k_columns, peg::must<replacing_columns>> {};
struct column_paths : peg::list<table_name, symbol<','>> {};
struct dropped_list : peg::sor<peg::seq<symbol<'('>, peg::must<column_paths>, must_symbol<')'>>, column_paths> {};
struct drop_columns : peg::seq<k_drop, column_word, peg::opt<if_exists>, peg::must<dropped_list>> {};
struct new_name : name {};
struct rename_column : peg::seq<k_rename, k_column, peg::must<table_name>, peg::must<k_to>, peg::must<new_name>> {};
struct new_type : peg::seq<k_type, required_type> {};
struct set_default : peg::seq<k_set, k_default, peg::must<literal>> {};
struct drop_default : peg::seq<k_drop, k_default> {};
struct set_not_null : peg::seq<k_set, k_not, peg::must<k_null>> {};
struct drop_not_null : peg::seq<k_drop, k_not, peg::must<k_null>> {};
struct column_action : peg::sor<new_type, set_default, drop_default, set_not_null, drop_not_null, column_comment, position> {};
struct altered_column : peg::seq<table_name, peg::must<column_action>, peg::star<column_action>> {};
struct altered_columns : peg::list<altered_column, symbol<','>> {};
struct alter_columns : peg::seq<peg::sor<k_alter, k_change>, peg::opt<k_column>, peg::must<altered_columns>> {};

// --- ALTER TABLE: partitions, order, primary key, properties, name, place -----------------------------------------------

struct add_partition : peg::seq<k_add, k_partition, peg::must<k_field>, peg::must<partition_item>, peg::opt<partition_name>> {};
struct drop_partition : peg::seq<k_drop, k_partition, peg::must<k_field>, peg::must<partition_item>> {};
struct replace_partition : peg::seq<k_replace, k_partition, peg::must<k_field>, peg::must<partition_item>, peg::must<k_with>,
                                    peg::must<partition_item>, peg::opt<partition_name>> {};
struct descending : k_desc {};
struct nulls_first : peg::seq<k_nulls, k_first> {};
struct nulls_last : peg::seq<k_nulls, k_last> {};
struct order_item : peg::seq<partition_item, peg::opt<peg::sor<k_asc, descending>>, peg::opt<peg::sor<nulls_first, nulls_last>>> {};
struct order_items : peg::list<order_item, symbol<','>> {};
struct locally : k_locally {};
struct order_list : peg::sor<peg::seq<symbol<'('>, peg::must<order_items>, must_symbol<')'>>, order_items> {};
struct ordered_by : peg::seq<peg::opt<locally>, k_ordered, peg::must<k_by>, peg::must<order_list>> {};
struct distributed : peg::seq<k_distributed, peg::must<k_by>, peg::must<k_partition>> {};
struct unordered : k_unordered {};
struct write_rule : peg::sor<peg::seq<distributed, peg::opt<ordered_by>>, unordered, ordered_by> {};
struct write_order : peg::seq<k_write, peg::must<write_rule>> {};
struct drop_word : k_drop {};
struct identifier_fields : peg::seq<peg::sor<k_set, drop_word>, k_identifier, peg::must<k_fields>, peg::must<column_paths>> {};
struct set_properties : peg::seq<k_set, k_tblproperties, peg::must<property_list>> {};
struct property_keys : peg::seq<symbol<'('>, peg::list<property_key, symbol<','>>, must_symbol<')'>> {};
struct unset_properties : peg::seq<k_unset, peg::must<k_tblproperties>, peg::opt<if_exists>, peg::must<property_keys>> {};
struct rename_table : peg::seq<k_rename, k_to, peg::must<table_name>> {};
struct set_location : peg::seq<k_set, location_clause> {};

// --- ALTER TABLE: branches and tags -------------------------------------------------------------------------------------

struct or_replace : peg::seq<k_or, peg::must<k_replace>> {};
struct branch_word : k_branch {};
struct ref_word : peg::sor<branch_word, k_tag> {};
struct as_of : peg::seq<k_as, peg::must<k_of>, peg::must<k_version>, peg::must<integer>> {};
struct age_unit : peg::sor<k_days, k_hours, k_minutes> {};
struct age : peg::seq<integer, peg::must<age_unit>> {};
struct retain : peg::seq<k_retain, peg::must<age>> {};
struct min_snapshots : peg::seq<integer, k_snapshots> {};
struct retention_rule : peg::sor<peg::seq<min_snapshots, peg::opt<age>>, age> {};
struct snapshot_retention : peg::seq<k_with, peg::must<k_snapshot>, peg::must<k_retention>, peg::must<retention_rule>> {};
struct create_ref : peg::seq<k_create, peg::opt<or_replace>, ref_word, peg::opt<if_not_exists>, peg::must<name>,
                             peg::star<peg::sor<as_of, retain, snapshot_retention>>> {};
struct replace_ref : peg::seq<k_replace, ref_word, peg::must<name>, peg::star<peg::sor<as_of, retain, snapshot_retention>>> {};
struct drop_ref : peg::seq<k_drop, ref_word, peg::opt<if_exists>, peg::must<name>> {};

struct table_action
    : peg::sor<add_columns, add_partition, drop_columns, drop_partition, identifier_fields, drop_ref, rename_column,
               rename_table, replace_columns, replace_partition, replace_ref, create_ref, write_order, set_properties, unset_properties,
               set_location, alter_columns> {};
struct alter_table : peg::seq<k_alter, k_table, peg::must<table_name>, peg::must<table_action>> {};

// --- DROP TABLE, the session --------------------------------------------------------------------------------------------

struct purge : k_purge {};
struct drop_table : peg::seq<k_drop, k_table, peg::opt<if_exists>, peg::must<table_name>, peg::opt<purge>> {};

// Keys with a dot are Spark's; others are DuckDB's settings, except that DuckDB has no way to show one or all. SHOW of a name
// may as well mean a table.
struct setting_key_text : peg::list<peg::seq<name_start, peg::star<peg::sor<name_part, peg::one<'-'>>>>, peg::one<'.'>> {};
struct dotted_key : peg::seq<peg::at<peg::seq<plain_name, peg::one<'.'>>>, setting_key_text, skip> {};
struct setting_value : peg::plus<peg::not_at<peg::seq<peg::opt<symbol<';'>>, peg::eof>>, peg::any> {};
struct set_setting : peg::seq<k_set, dotted_key, symbol<'='>, peg::must<setting_value>> {};
struct end : peg::seq<peg::opt<symbol<';'>>, peg::eof> {};
struct minus_v : peg::seq<peg::string<'-', 'v'>, skip> {};
struct show_settings : peg::seq<k_set, peg::opt<minus_v>, peg::at<end>> {};
struct show_setting : peg::seq<k_set, setting_key_text, skip, peg::at<end>> {};
struct named_setting : peg::seq<k_show, peg::not_at<k_views>, setting_key_text, skip, peg::at<end>> {};
struct show_time_zone : peg::seq<k_show, keyword<TAO_PEGTL_ISTRING("time")>, keyword<TAO_PEGTL_ISTRING("zone")>, peg::at<end>> {};
struct reset_settings : peg::seq<k_reset, peg::at<end>> {};
struct reset_setting : peg::seq<k_reset, dotted_key> {};

struct statement_rule
    : peg::sor<alter_table, create_namespace, drop_namespace, set_namespace_properties, drop_table, show_namespaces,
               show_tables, show_create_table, show_properties, show_columns, show_partitions, describe_namespace,
               describe_history, describe_table, use_namespace, set_setting, show_settings, show_setting, named_setting,
               show_time_zone, reset_settings, reset_setting> {};
struct whole_statement : peg::seq<skip, statement_rule, peg::opt<symbol<';'>>, peg::must<peg::eof>> {};

template <typename Rule>
using Selected = peg::parse_tree::selector<
    Rule,
    peg::parse_tree::store_content::on<
        // shared
        name_text, table_name, string_text, number_text, integer_text, struct_type, array_type, map_type, simple_type,
        type_name_text, member, not_null, column_comment, default_value, literal_null, literal_truth_text, literal_call,
        transform_call, partition_item, partition_name, location_clause, comment_clause, property, property_key,
        if_not_exists, if_exists,
        // statements
        alter_table, create_namespace, drop_namespace, set_namespace_properties, drop_table, show_namespaces, show_tables,
        show_create_table, show_properties, show_columns, show_partitions, describe_namespace, describe_history,
        describe_table, use_namespace, set_setting, show_settings, show_setting, named_setting, show_time_zone,
        reset_settings, reset_setting,
        // actions
        add_columns, add_partition, replace_columns, drop_columns, drop_partition, identifier_fields, drop_ref, rename_column, rename_table,
        replace_partition, replace_ref, create_ref, write_order, set_properties, unset_properties, set_location,
        alter_columns,
        // parts
        cascade, purge, in_namespace, like_pattern, extended, described_column, replacing_column, first, after, added_column, altered_column, new_name, new_type,
        set_default, drop_default, set_not_null, drop_not_null, descending, nulls_first, nulls_last, order_item, locally,
        distributed, unordered, drop_word, or_replace, branch_word, as_of, age, age_unit, retain, min_snapshots,
        snapshot_retention, setting_key_text, setting_value>>;

}  // namespace frazil::sql::grammar::definition

namespace frazil::sql::grammar {

template <> inline constexpr const char* kExpected<definition::properties_word> = "PROPERTIES";
template <> inline constexpr const char* kExpected<definition::in_word> = "IN";
template <> inline constexpr const char* kExpected<definition::new_name> = "a name";
template <> inline constexpr const char* kExpected<definition::added_columns> = "a column";
template <> inline constexpr const char* kExpected<definition::replacing_columns> = "(column type, ...)";
template <> inline constexpr const char* kExpected<definition::column_paths> = "a column";
template <> inline constexpr const char* kExpected<definition::order_items> = "a column or transform";
template <> inline constexpr const char* kExpected<definition::property_keys> = "('key', ...)";
template <> inline constexpr const char* kExpected<definition::column_action> =
    "TYPE, SET or DROP NOT NULL, SET or DROP DEFAULT, COMMENT, FIRST or AFTER";
template <> inline constexpr const char* kExpected<definition::table_action> =
    "ADD, DROP, RENAME, ALTER, REPLACE, SET, UNSET, WRITE or CREATE";
template <> inline constexpr const char* kExpected<definition::added_list> = "a column";
template <> inline constexpr const char* kExpected<definition::dropped_list> = "a column";
template <> inline constexpr const char* kExpected<definition::altered_columns> = "a column";
template <> inline constexpr const char* kExpected<definition::order_list> = "a column or transform";
template <> inline constexpr const char* kExpected<definition::write_rule> =
    "ORDERED BY, LOCALLY ORDERED BY, UNORDERED or DISTRIBUTED BY PARTITION";
template <> inline constexpr const char* kExpected<definition::retention_rule> = "a number of SNAPSHOTS or an age, like 7 DAYS";
template <> inline constexpr const char* kExpected<definition::age> = "an age, like 7 DAYS";
template <> inline constexpr const char* kExpected<definition::age_unit> = "DAYS, HOURS or MINUTES";
template <> inline constexpr const char* kExpected<definition::setting_value> = "a value";

}  // namespace frazil::sql::grammar
