import { type Check, isObject, isText, listOf, oneOf, type Rule, TEXTS } from "./setting_rules.ts";

/** The ARN of a resource, or a reference to it in Terraform files of your own. */
export type SourceArn =
  | string
  /** A reference such as `aws_kinesis_stream.orders.arn` or `module.orders.stream_arn`. */
  | { reference: string };

/** A statement of a function's policy. */
export interface PolicyStatement {
  /** Actions, such as `ses:SendEmail`. */
  actions: string[];
  /** ARNs, or references to Terraform files of your own. */
  resources: SourceArn[];
  /**
   * `"Allow"` or `"Deny"`.
   * @default "Allow"
   */
  effect?: "Allow" | "Deny";
  /** Conditions as in IAM: `{ StringEquals: { "aws:ResourceTag/team": "shop" } }`. */
  conditions?: Record<string, Record<string, string | string[]>>;
}

/** A container image, which `trellis build` does not make. */
export interface FunctionImage {
  /** The image with its tag or digest: an address in Amazon ECR, or a reference to it. */
  uri?: SourceArn;
  /**
   * A repository in `infra.repositories`, in place of `uri`. The Terraform variable
   * `<repository>_image_tag` names the image.
   */
  repository?: string;
  /**
   * Arguments of the entry point, such as `["index.handler"]`.
   * @default those of the image
   */
  command?: string[];
}

/** The URL of a function in `api/`, in place of a route of the API. */
export interface FunctionUrl {
  /**
   * Who may call: everyone (the handler decides by its option `auth`), or principals of IAM with the
   * right `lambda:InvokeFunctionUrl`.
   * @default "none"
   */
  authorization?: "none" | "iam";
}

/**
 * Resources of one function: in `infra.functions`, or as the export `infra` beside the handler,
 * which only the generator reads.
 */
export interface FunctionResources {
  /**
   * The processor.
   * @default "arm64"
   */
  architecture?: "arm64" | "x86_64";
  /** Layer versions, at most 5, in the order in which they are laid over each other. */
  layers?: SourceArn[];
  /** What the function's role may do besides what the generator grants. */
  policies?: PolicyStatement[];
  /** Where results of asynchronous invocations go: a queue, topic, event bus or function. */
  onSuccess?: SourceArn;
  /**
   * Destination of asynchronous invocations whose last attempt failed, with the error. Replaces the dead-letter
   * queue, which gets the event only.
   */
  onFailure?: SourceArn;
  /**
   * `api`: a URL of the function itself. It has no gateway: no authorizer, no limits, responses up to
   * 15 minutes. Every path and method reaches the handler. `true` for the defaults.
   */
  url?: true | FunctionUrl;
  /** A container image instead of a bundle. */
  image?: FunctionImage;
}

const isReference = (pattern: RegExp): Check => (value) =>
  typeof value === "string"
    ? pattern.test(value)
    : isObject(value) && Object.keys(value).join() === "reference" &&
      /^[a-z][\w.[\]"-]*\.[a-z_]\w*$/i.test(String(value.reference));

const REFERENCE = 'or { reference: "aws_sqs_queue.done.arn" }';

const [, isTexts] = TEXTS;

const isStatement: Check = (value) => {
  if (!isObject(value)) return false;
  const { actions, resources, effect = "Allow", conditions = {}, ...others } = value;
  return Object.keys(others).length === 0 && isTexts(actions) &&
    Array.isArray(resources) && resources.length > 0 &&
    resources.every(isReference(/^(?:\*|arn:.+)$/)) &&
    (effect === "Allow" || effect === "Deny") && isObject(conditions) &&
    Object.values(conditions).every(isObject);
};

const isImage: Check = (value) =>
  isObject(value) &&
  Object.keys(value).every((key) => ["uri", "repository", "command"].includes(key)) &&
  (value.repository === undefined
    ? isReference(/^[\w.:/@-]+$/)(value.uri)
    : value.uri === undefined && isText(value.repository)) &&
  (value.command === undefined || isTexts(value.command));

const isUrl: Check = (value) =>
  value === true ||
  isObject(value) && Object.keys(value).every((key) => key === "authorization") &&
    [undefined, "none", "iam"].includes(value.authorization as string | undefined);

const DESTINATION: Rule = [
  `the ARN of a queue, topic, bus or function, ${REFERENCE}`,
  isReference(/^arn:[^:]+:(?:sqs|sns|events|lambda):/),
];

/** Checks of {@link FunctionResources}, with a description of valid values. */
export const RESOURCE_CHECKS: Readonly<Record<keyof FunctionResources, Rule>> = {
  architecture: oneOf("arm64", "x86_64"),
  layers: listOf(
    `a list of at most 5 ARNs of layer versions, ${REFERENCE}`,
    isReference(/^arn:[^:]+:lambda:[^:]+:\d+:layer:[^:]+:\d+$/),
    1,
    5,
  ),
  policies: listOf(
    'a list such as [{ actions: ["ses:SendEmail"], resources: ["arn:…"] }], with effect and conditions',
    isStatement,
    1,
  ),
  onSuccess: DESTINATION,
  onFailure: DESTINATION,
  url: ['true, or { authorization: "iam" }', isUrl],
  image: ["an object such as { uri, command } or { repository, command }", isImage],
};
