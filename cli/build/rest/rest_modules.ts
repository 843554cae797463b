/** A module of this package whose code a usual request does not run. */
export interface RestModule {
  /** Its exported functions. Nothing else of it is imported by modules of the bundle. */
  readonly functions: readonly string[];
  /** The modules of the second file that it imports. */
  readonly uses?: readonly string[];
  /** The values that it imports from modules of the bundle, by module. */
  readonly shared?: Readonly<Record<string, readonly string[]>>;
  /**
   * Keeps the module in the bundles of functions if the own code of one of them matches, because its
   * requests then run it. The module is the same in both files, so the pattern only decides about time.
   */
  readonly unless?: RegExp;
}

/** Modules without state that both files may contain. */
export const COPIED_MODULES: ReadonlySet<string> = new Set([
  "errors/cause_chain",
  "observability/redacted",
]);

const ACCESS = /\b(?:authorize|freshWithin|optional|organization|roles)\s*:/;
const ADDRESS = /\b(?:audit|clientAddress|getClientAddress|rateLimit)\b/;
const AUTH_LIMITS = /\b(?:accountLimits|rateLimit)\b/;
const AUTH_TABLES =
  /\b(?:account|additionalFields|member|organization|session|user|verification)\s*:|\bschema\s*:\s*\{/;
const AUTHORIZER = /authorizer|gateway/i;
const BEARER = /["'`]bearer["'`]/;
const CONSTRAINTS = /\bconstraints\b/;
const DATA_API = /\brds-data\b/;
const DISTSQL = /["'`]distsql["'`]/;
/** Options of better-auth in `AuthConfig`. */
const LIBRARY_OPTION =
  /\b(?:account|advanced|appName|basePath|databaseHooks|disabledPaths|email(?:AndPassword|Verification)|experimental|hooks|logger|onAPIError|rateLimit|secondaryStorage|session|telemetry|user|verification)\s*:/;
const LOGGED_EVENTS = /\blog(?:Event|Result)\b/;
const OPEN_TELEMETRY = /opentelemetry/i;
const RESPONSES = /\b(?:responses|responseSchema)\b/;
const SOCIAL = /\bsocialProviders\b/;
const TRANSACTION = /enqueue|sendAhead|transaction/i;

/** The modules of the second file. A test compares the lists with the sources. */
export const REST_MODULES: Readonly<Record<string, RestModule>> = {
  "auth/check_library_options": {
    functions: ["checkLibraryOptions"],
    shared: { "errors/http_errors": ["ConfigurationError"] },
    unless: LIBRARY_OPTION,
  },
  "auth/check_rate_limits": {
    functions: ["resolveAccountLimits", "checkWindows"],
    shared: {
      "core/rate_limit/rate_limit": ["MAX_WINDOW_SECONDS"],
      "errors/http_errors": ["ConfigurationError"],
    },
    unless: AUTH_LIMITS,
  },
  "auth/identify_config": { functions: ["identifyConfig"] },
  "auth/providers": {
    functions: ["resolveProviders"],
    shared: {
      "core/option_rules": ["ANY_OPTION", "BOOLEAN_OPTION", "checkOptions", "OBJECT_OPTION"],
      "errors/http_errors": ["ConfigurationError"],
    },
    unless: SOCIAL,
  },
  "auth/resolve_schema": {
    functions: ["resolveSchema", "checkAdditionalFields"],
    shared: {
      "database/drizzle_table": ["getColumns", "isTable"],
      "errors/http_errors": ["ConfigurationError"],
      "auth/column_names": ["COLUMN_NAMES"],
      "auth/default_tables": ["SESSION_TABLES"],
    },
    unless: AUTH_TABLES,
  },
  "auth/session_access": {
    functions: ["authenticateWithAccess"],
    uses: ["auth/session_organization"],
    shared: {
      "errors/app_error": ["AppError", "isAppError"],
      "errors/http_errors": ["ConfigurationError", "ForbiddenError"],
      "observability/logger": ["logInfo"],
      "auth/instance": ["getInternals"],
      "auth/request_session": ["checkRequestSession"],
      "auth/session_credential": ["hasAuthorization", "hasSessionCookie", "requireCredential"],
    },
    unless: ACCESS,
  },
  "auth/session_organization": {
    functions: ["getOrganizationQuery", "findOrganization", "hasRole"],
    shared: {
      "database/drizzle_table": ["getColumns", "isTable"],
      "errors/http_errors": ["ConfigurationError", "ForbiddenError"],
      "auth/organization_query": ["prepareOrganizationQuery"],
      "auth/query_cache": ["cacheByClient"],
    },
    unless: ACCESS,
  },
  "core/async/retry": {
    functions: ["retry"],
    shared: {
      "core/async/backoff": ["fullJitterDelay"],
      "core/async/clock": ["systemClock"],
      "core/request_context": ["remainingMs"],
    },
  },
  "core/http/client_address": {
    functions: ["getClientAddress", "checkClientAddressSource"],
    uses: ["core/http/ip_address"],
    shared: {
      "env/get_env": ["getOptionalEnv"],
      "errors/http_errors": ["ConfigurationError"],
      "core/http/api_event": ["getHeader", "isAlbEvent", "isHttpApiEvent"],
      "core/http/timing_safe_equal": ["timingSafeEqual"],
    },
    unless: ADDRESS,
  },
  "core/http/ip_address": {
    functions: ["parseIpAddress", "parseAddressBlock", "isInBlock", "getAddressPrefix"],
    unless: ADDRESS,
  },
  "core/loggable_message": {
    functions: ["toLoggable"],
    uses: ["core/redact_paths", "observability/redact"],
    unless: LOGGED_EVENTS,
  },
  "core/redact_paths": { functions: ["redactPaths"], unless: LOGGED_EVENTS },
  "database/check_distsql_config": {
    functions: ["checkDistSqlConfig"],
    shared: {
      "database/config": ["getOwnRegion", "splitEndpoint"],
      "database/config_error": ["refuseConfig", "showValue"],
    },
    unless: DISTSQL,
  },
  "database/providers/data_api": {
    functions: ["openDataApi"],
    uses: ["database/providers/data_api_driver", "database/providers/data_api_error"],
    shared: {
      "env/node_process": ["runtimeProcess"],
      "errors/http_errors": ["ConfigurationError"],
      "observability/invocation_context": ["runOutsideInvocation"],
      "database/providers/deadline": ["NO_DEADLINE", "onDeadline"],
      "database/session/connection_slots": ["ConnectionSlots"],
      "database/session/decode_rows": ["toQueryResult"],
      "database/session/client": ["createSessionClient"],
      "database/providers/data_api_dialect": ["DataApiDialect"],
      "database/providers/connect_retry": ["createConnectRetry", "isUnreachable"],
      "database/providers/idle_timer": ["IdleTimer"],
      "database/providers/load_rds_data": ["loadRdsData"],
      "database/providers/statement_limit": ["getLimit", "isSilent", "withinLimit"],
    },
    unless: DATA_API,
  },
  "database/providers/data_api_driver": {
    functions: ["toSqlDriver", "getRunner"],
    uses: ["database/providers/data_api_values"],
    shared: {
      "database/session/command_tag": ["countsRows", "readCommand"],
      "database/session/driver": ["withSavepoints"],
      "database/session/type_ids": ["findTypeId"],
    },
    unless: DATA_API,
  },
  "database/providers/data_api_error": {
    functions: ["readFailure"],
    uses: ["errors/driver_error"],
    unless: DATA_API,
  },
  "database/providers/data_api_values": {
    functions: ["getCastType", "toParameter", "toText"],
    shared: {
      "database/entity_kind": ["isKind"],
      "database/session/array_literal": ["formatArray"],
      "database/session/parameter_text": ["toHexText", "toParameterText", "toTimestampText"],
    },
    unless: DATA_API,
  },
  "database/providers/postgres_js_session": { functions: ["openDedicatedSession"] },
  "database/providers/postgres_js_transaction": {
    functions: ["beginSafely", "endsConnection"],
    unless: TRANSACTION,
  },
  "database/queries/check_constraint_answers": {
    functions: ["checkConstraintAnswers"],
    shared: { "errors/http_errors": ["ConfigurationError"] },
    unless: CONSTRAINTS,
  },
  "database/queries/constraint_answers": {
    functions: ["findConstraintAnswer"],
    shared: { "database/distsql/sql_name": ["deriveName"] },
  },
  "database/queries/query_error": {
    functions: ["toQueryError"],
    uses: ["database/queries/constraint_answers", "errors/driver_error"],
    shared: {
      "errors/app_error": ["isAppError"],
      "errors/database_errors": [
        "DatabaseError",
        "ForeignKeyViolationError",
        "UniqueViolationError",
      ],
      "errors/http_errors": ["ValidationError"],
      "errors/transaction_misuse_error": ["TransactionMisuseError"],
      "database/retry": ["countAttempts"],
      "database/sqlstate": ["isOccError"],
      "database/session/transaction_state": ["isInsideTransaction", "keepTransaction"],
    },
  },
  "database/session/misuse_messages": {
    functions: ["describeStatement", "transactionEnded", "waitsForItself", "waitedForIdle"],
    shared: { "errors/transaction_misuse_error": ["TransactionMisuseError"] },
  },
  "database/transaction_guard": {
    functions: ["findTransactionState", "isFlatTransaction", "guardTransactions"],
    shared: {
      "database/session/statement_session": ["findSession"],
      "database/session/transaction_state": [
        "createSavepointError",
        "POSTGRES_RULES",
        "TransactionState",
      ],
    },
    unless: TRANSACTION,
  },
  "env/optional_package": {
    functions: ["explainMissing"],
    shared: { "errors/http_errors": ["ConfigurationError"] },
  },
  "errors/driver_error": {
    functions: ["getSqlState", "readDriverError", "findSqlState", "hasSqlState", "findDriverError"],
    shared: { "errors/known_names": ["readKnownNames"] },
  },
  "observability/describe_error": {
    functions: ["describeError"],
    uses: ["errors/driver_error"],
    shared: { "errors/app_error": ["isAppError"] },
  },
  "observability/known_tokens": { functions: ["findPrivateKeys"] },
  "observability/opentelemetry": {
    functions: ["startOtelSpan", "setOtelAttribute", "endOtelSpan"],
    uses: ["observability/report_failure"],
    shared: { "observability/otel_provider": ["getOtelApi"] },
    unless: OPEN_TELEMETRY,
  },
  "observability/redact": {
    functions: ["redactDocument", "redactValue"],
    uses: ["observability/describe_error", "observability/redact_text"],
    shared: { "observability/sensitive_names": ["isSensitiveKey", "isSensitiveParameter"] },
  },
  "observability/redact_named_values": {
    functions: ["redactNamedValues"],
    uses: ["observability/value_extent"],
    shared: { "observability/sensitive_names": ["isSensitiveKey", "isSensitiveParameter"] },
  },
  "observability/redact_text": {
    functions: ["redactText"],
    uses: [
      "observability/known_tokens",
      "observability/redact_named_values",
      "observability/redact_url",
    ],
  },
  "observability/redact_url": { functions: ["redactUrlUsers"] },
  "observability/report_failure": {
    functions: ["reportFailure"],
    uses: ["observability/describe_error", "observability/redact"],
    shared: { "env/builtin_module": ["builtinModule"] },
  },
  "observability/value_extent": { functions: ["findValueExtent"] },
  "validation/authenticate_authorizer": {
    functions: ["readAuthorizer", "findClaims"],
    shared: {
      "core/http/api_event": ["getAuthorizer"],
      "core/http/user_status": ["UserStatus"],
      "errors/http_errors": ["ConfigurationError"],
    },
    unless: AUTHORIZER,
  },
  "validation/authenticate_bearer": {
    functions: ["checkBearerToken"],
    shared: {
      "core/http/api_event": ["getHeader"],
      "core/http/bearer_token": ["extractBearerToken"],
      "core/http/timing_safe_equal": ["timingSafeEqual"],
      "env/get_env": ["getOptionalEnv"],
      "errors/http_errors": ["ConfigurationError", "UnauthorizedError"],
    },
    unless: BEARER,
  },
  "validation/result_reader": {
    functions: ["createResultReader"],
    shared: {
      "core/async/then": ["then"],
      "core/http/response": ["buildValidatedResponse"],
      "env/get_env": ["getOptionalEnv"],
      "errors/http_errors": ["ConfigurationError", "UnexpectedError"],
      "validation/reply": ["Reply"],
      "validation/schema": ["createValidator"],
    },
    unless: RESPONSES,
  },
};
