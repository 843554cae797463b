/** Variables set by the Lambda runtime, or by the function module (`ENVIRONMENT`). */
const PROVIDED = /^(?:AWS_.*|_.*|LAMBDA_.*|ENVIRONMENT|LANG|LD_LIBRARY_PATH|NODE_PATH|PATH|PWD)$/;
/** Variables that match {@link PROVIDED} but may be set. */
const SETTABLE = /^AWS_LAMBDA_(?:EXEC_WRAPPER|MAX_CONCURRENCY)$/;

/** Checks for variables that Lambda or the function module sets. */
export function isProvided(name: string): boolean {
  return PROVIDED.test(name) && !SETTABLE.test(name);
}

/** Names whose values must never be written to a file. */
export const SURE_SECRET = /(?:SECRET|PASSWORD|PASSWD|PRIVATE_KEY|CREDENTIAL)/;
/** Names whose values are usually secret: Terraform does not show them in plans. */
export const SECRET_NAME =
  /(?:SECRET|TOKEN|PASSWORD|PASSWD|PRIVATE|CREDENTIAL|API_?KEY|_KEY$|DSN|(?<!BASE|PUBLIC|SITE|APP|API|FRONTEND|CALLBACK|REDIRECT)_URL$)/;

/** Secrets that can be any random text, because only functions of the project know them. */
export const OWN_SECRETS: readonly string[] = [
  "API_BEARER_TOKEN",
  "AUTH_SECRET",
  "BETTER_AUTH_SECRET",
  "ORIGIN_VERIFY_SECRET",
];

/** Reserved names: variables of the generated files, and arguments of module blocks. */
const RESERVED = new Set([
  ..."environment region manage_api_gateway_account domain_name hosted_zone_id certificate_arn"
    .split(" "),
  ..."data_api_cluster_arn data_api_secret_arn data_api_database database_user_arn".split(" "),
  ..."cdn_domain_name cdn_certificate_arn alarm_topic_arns manage_mail_identity".split(" "),
  ..."function_subnet_ids function_security_group_ids".split(" "),
  ..."source version providers count for_each lifecycle depends_on locals".split(" "),
]);

/** Variables of image repositories and push platforms. */
const RESERVED_PATTERN = /^push_\w+_key$|_image_tag$/;

/**
 * Returns names of Terraform variables: lower case by convention, unless two names differ only in
 * case. Reserved names get a prefix.
 *
 * @param names Names of environment variables.
 */
export function nameVariables(names: readonly string[]): ReadonlyMap<string, string> {
  const count = new Map<string, number>();
  for (const name of new Set(names)) {
    count.set(name.toLowerCase(), (count.get(name.toLowerCase()) ?? 0) + 1);
  }
  return new Map(names.map((name) => {
    const lower = name.toLowerCase();
    if (RESERVED.has(lower) || RESERVED_PATTERN.test(lower)) {
      return [name, count.get(lower)! > 1 ? `env_${name}` : `env_${lower}`];
    }
    return [name, count.get(lower)! > 1 ? name : lower];
  }));
}
