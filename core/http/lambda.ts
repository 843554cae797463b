/**
 * The part of Lambda's context object that is used here. The type of `@types/aws-lambda` fits.
 * Source: AWS Lambda developer guide, "Using the Lambda context object" (Node.js).
 */
export interface LambdaContext {
  /** Id of this invocation; the log line of the platform has it too. */
  readonly awsRequestId: string;
  /** The function's name. */
  readonly functionName: string;
  /** `$LATEST` or a number. */
  readonly functionVersion: string;
  /** The ARN that was called, with its alias. */
  readonly invokedFunctionArn: string;
  /** Memory in MB. */
  readonly memoryLimitInMB: string;
  /** The function's log group. */
  readonly logGroupName: string;
  /** This sandbox' log stream. */
  readonly logStreamName: string;
  /** Milliseconds until the platform ends the invocation. */
  getRemainingTimeInMillis(): number;
}

/** Headers as Lambda gives them; names come in any case. */
export type EventHeaders = Readonly<Record<string, string | undefined>>;

/** Facts about the caller from a custom authorizer, a JWT authorizer or IAM. */
export type AuthorizerContext = Readonly<Record<string, unknown>>;

/** An event of a REST API (payload format 1.0), also of an HTTP API that is set to that format. */
export interface RestApiEvent {
  /** `/notes/{noteId}` */
  readonly resource: string;
  /** `/notes/n1` */
  readonly path: string;
  /** `GET` */
  readonly httpMethod: string;
  /** Last value of each header. */
  readonly headers: EventHeaders;
  /** All values of each header. */
  readonly multiValueHeaders?: Readonly<Record<string, readonly string[] | undefined>> | null;
  /** Last value of each query parameter, decoded. */
  readonly queryStringParameters: Readonly<Record<string, string | undefined>> | null;
  /** All values of each query parameter, decoded. */
  readonly multiValueQueryStringParameters?:
    | Readonly<Record<string, readonly string[] | undefined>>
    | null;
  /** Values of the route's parameters. */
  readonly pathParameters: Readonly<Record<string, string | undefined>> | null;
  /** Variables of the stage. */
  readonly stageVariables?: Readonly<Record<string, string | undefined>> | null;
  /** Facts about the request from the gateway. */
  readonly requestContext: {
    readonly requestId?: string;
    readonly authorizer?: AuthorizerContext | null;
    readonly stage?: string;
    readonly identity?: { readonly sourceIp?: string; readonly userAgent?: string | null } | null;
  };
  /** The body as text, or base64. */
  readonly body: string | null;
  /** True if `body` is base64. */
  readonly isBase64Encoded: boolean;
}

/** An event of an HTTP API (payload format 2.0) or of a function URL. */
export interface HttpApiEvent {
  /** `2.0` */
  readonly version: string;
  /** `GET /notes/{noteId}` */
  readonly routeKey: string;
  /** Path, with the stage's name unless the stage is `$default`. */
  readonly rawPath: string;
  /** Query string without the question mark, still encoded. */
  readonly rawQueryString: string;
  /** Cookies, one text each. */
  readonly cookies?: readonly string[];
  /** Headers in lower case; repeated ones are joined with commas. */
  readonly headers: EventHeaders;
  /** Decoded; repeated ones are joined with commas. */
  readonly queryStringParameters?: Readonly<Record<string, string | undefined>> | null;
  /** Values of the route's parameters. */
  readonly pathParameters?: Readonly<Record<string, string | undefined>> | null;
  /** Facts about the request from the gateway. */
  readonly requestContext: {
    readonly requestId?: string;
    /** By the kind of the authorizer: what a Lambda authorizer said, the claims of a token, IAM's facts. */
    readonly authorizer?: {
      readonly lambda?: unknown;
      readonly jwt?: unknown;
      readonly iam?: unknown;
    } | null;
    readonly http: { readonly method: string; readonly path: string; readonly sourceIp?: string };
    readonly stage?: string;
    /** The host that the client called. */
    readonly domainName?: string;
  };
  /** The body as text, or base64. */
  readonly body?: string | null;
  /** True if `body` is base64. */
  readonly isBase64Encoded: boolean;
}

/** An event of an Application Load Balancer. */
export interface AlbEvent {
  /** `GET` */
  readonly httpMethod: string;
  /** `/notes/n1` */
  readonly path: string;
  /** Last value of each header, unless the target group sends all values. */
  readonly headers?: EventHeaders | null;
  /** All values of each header, when the target group is set so. */
  readonly multiValueHeaders?: Readonly<Record<string, readonly string[] | undefined>> | null;
  /** Last value of each query parameter, still encoded. */
  readonly queryStringParameters?: Readonly<Record<string, string | undefined>> | null;
  /** All values of each query parameter, still encoded, when the target group is set so. */
  readonly multiValueQueryStringParameters?:
    | Readonly<Record<string, readonly string[] | undefined>>
    | null;
  /** Names the target group. */
  readonly requestContext: { readonly elb: { readonly targetGroupArn: string } };
  /** The body as text, or base64. */
  readonly body: string | null;
  /** True if `body` is base64. */
  readonly isBase64Encoded: boolean;
}

/** The event of an HTTP request, from any source. */
export type ApiEvent = RestApiEvent | HttpApiEvent | AlbEvent;

/** A handler's answer to an HTTP request. */
export interface ProxyResult {
  /** HTTP status. */
  statusCode: number;
  /** Headers with one value. */
  headers?: Record<string, string | number | boolean>;
  /** Headers with several values. */
  multiValueHeaders?: Record<string, (string | number | boolean)[]>;
  /** Values of `Set-Cookie`; sent in the shape that the event's source wants. */
  cookies?: string[];
  /** The body as text, or base64. */
  body: string;
  /** True if `body` is base64. */
  isBase64Encoded?: boolean;
}
