import { block, type Expression, expression, type HclBlock } from "./hcl.ts";

/** The policy that bounds what roles may do. */
export const BOUNDARY: Expression = expression("local.permissions_boundary_arn");

/**
 * Renders the ARN of the policy that bounds what roles may do.
 *
 * @param name The setting `infra.permissionsBoundary`.
 */
export function renderBoundary(name: string): HclBlock[] {
  return [
    block("data", ["aws_partition", "boundary"]),
    block("locals", [], {
      permissions_boundary_arn: expression(
        `"arn:\${data.aws_partition.boundary.partition}:iam::\${module.core.account_id}:policy/${name}"`,
      ),
    }),
  ];
}
