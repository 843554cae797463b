/** Tokens that an HTTP API verifies for routes with `auth: createGatewayJwtAuth(…)`. */
export interface JwtInfra {
  /** The issuer, whose discovery document names the keys: `https://login.example.com/`. */
  issuer: string;
  /** Accepted values of the claim `aud`, or of `client_id` in tokens without `aud`. */
  audience: string[];
}

/** Settings of the API; the modules rest-api and http-api document them in detail. */
export interface ApiInfra {
  /**
   * The gateway. An HTTP API costs less than a third and verifies tokens itself; a REST API has API keys,
   * quotas and streamed responses.
   * @default "rest"
   */
  type?: "rest" | "http";
  /** HTTP APIs: tokens that the gateway verifies. */
  jwt?: JwtInfra;
  /** Description of the API. */
  description?: string;
  /**
   * The function in `authorizer/` for `auth: "authorizer"` and `"authorizer-optional"`.
   * @default the only authorizer
   */
  authorizer?: string;
  /**
   * Seconds that a decision of the authorizer is cached. With `"authorizer-optional"`
   * anywhere in the API it must be 0, because requests without credentials cannot be cached.
   * @default 300
   */
  authorizerTtlSeconds?: number;
  /**
   * The cache key of the decision. API Gateway rejects a request that lacks any of these without
   * calling the authorizer. The list must contain every header and query parameter that the
   * authorizer reads.
   * @default ["method.request.header.Authorization"]
   */
  identitySources?: string[];
  /**
   * Adds a HEAD route for each GET route of a function in `api/`: its function is called, and the response has no body. API
   * Gateway refuses HEAD without such a route. In a REST API each is two more resources of Terraform.
   * @default false
   */
  headRoutes?: boolean;
  /** Maximum number of concurrent requests. */
  throttleBurstLimit?: number;
  /** Maximum steady-state rate in requests per second. */
  throttleRateLimit?: number;
  /**
   * REST APIs: compresses responses from this size on, up to 10485760 bytes, if the client accepts it. Functions of HTTP
   * APIs and function URLs compress with the option `compress` of their handlers.
   */
  minimumCompressionBytes?: number;
  /**
   * Creates a usage plan with an API key, which every request must have (`X-Api-Key`).
   * @default false
   */
  usagePlan?: boolean;
  /**
   * Maximum number of requests per day with the usage plan's key.
   * @default 10000
   */
  quotaLimit?: number;
}

/** Settings of the WebSocket API; the websocket-api module documents them in detail. */
export interface WebSocketInfra {
  /**
   * The function in `authorizer/` that authorizes new connections; `false` for none.
   * @default the only authorizer if `$connect` has `auth: "authorizer"`, else none
   */
  authorizer?: string | false;
  /**
   * Contents that a connect request must have; API Gateway rejects it otherwise, without calling the
   * authorizer.
   * @default ["route.request.header.Authorization"]
   */
  identitySources?: string[];
}
