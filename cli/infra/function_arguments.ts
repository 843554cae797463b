import type {
  FunctionImage,
  FunctionResources,
  PolicyStatement,
} from "../config/function_resources.ts";
import { type Expression, expression, type HclValue, renderPolicy } from "./hcl.ts";
import { toIdentifier } from "./names.ts";
import { toArn } from "./stream_triggers.ts";

/** Name of the policy with the statements of `policies`. */
const OWN_POLICY = "own";

/**
 * Returns the arguments of the function module for a function's own resources.
 *
 * @param resources The settings of the function.
 */
export function getResourceArguments(
  { architecture, layers, onSuccess, onFailure, image }: FunctionResources,
): Record<string, HclValue | undefined> {
  return {
    architecture,
    layers: layers?.map(toArn),
    on_success_destination_arn: onSuccess && toArn(onSuccess),
    on_failure_destination_arn: onFailure && toArn(onFailure),
    package_type: image && "Image",
    image_uri: image && getImage(image),
    image_command: image?.command,
  };
}

/**
 * Returns the policies of a function with its own statements.
 *
 * @param policies The generated policies.
 * @param statements The setting `policies`.
 */
export function addOwnPolicy(
  policies: Readonly<Record<string, Expression>>,
  statements: readonly PolicyStatement[] | undefined,
): Readonly<Record<string, Expression>> {
  if (statements === undefined) return policies;
  const Statement = statements.map(({ effect = "Allow", actions, resources, conditions }) => ({
    Effect: effect,
    Action: actions,
    Resource: resources.map(toArn),
    Condition: conditions,
  }));
  const policy = renderPolicy(...Statement);
  return { ...policies, [OWN_POLICY]: policy };
}

function getImage({ uri, repository = "" }: FunctionImage): HclValue {
  if (uri !== undefined) return toArn(uri);
  const id = toIdentifier(repository);
  return expression(`"\${aws_ecr_repository.${id}.repository_url}:\${var.${id}_image_tag}"`);
}
