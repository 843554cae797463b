import type { RepositoryInfra } from "../config/delivery_infra.ts";
import {
  block,
  expression,
  type HclBlock,
  type HclValue,
  jsonencode,
  output,
  renderPolicy,
  resource,
} from "./hcl.ts";
import { createTextVariable, type InfraFunction, type TerraformVariable } from "./infra_plan.ts";
import { listIdentifiers, TAGS } from "./names.ts";

type Repositories = Readonly<Record<string, RepositoryInfra>>;

const KEPT_IMAGES = 20;

/**
 * Lists the variables with the tags of images that functions run.
 *
 * @param repositories The setting `infra.repositories`.
 */
export function listTagVariables(
  repositories: Repositories,
  functions: readonly InfraFunction[],
): TerraformVariable[] {
  const used = new Set(functions.map(({ settings }) => settings.image?.repository));
  return listIdentifiers(repositories).filter(([name]) => used.has(name)).map(([name, id]) =>
    createTextVariable(
      `${id}_image_tag`,
      `Tag of the image in the repository ${name} that the functions run.`,
    )
  );
}

/**
 * Renders image repositories: tags that cannot be moved, a scan of each image, and the removal of old
 * images.
 *
 * @param repositories The setting `infra.repositories`.
 */
export function renderRepositories(repositories: Repositories): HclBlock[] {
  const ids = listIdentifiers(repositories);
  if (ids.length === 0) return [];
  const urls = ids.map(([name, id]) => [
    name,
    expression(`aws_ecr_repository.${id}.repository_url`),
  ]);
  return [
    ...ids.flatMap(([name, id]) => renderRepository(name, id, repositories[name])),
    output(
      "repository_urls",
      "Addresses of the image repositories, for docker push.",
      Object.fromEntries(urls),
    ),
  ];
}

function renderRepository(
  name: string,
  id: string,
  { keepImages = KEPT_IMAGES }: RepositoryInfra,
): HclBlock[] {
  const repository = expression(`aws_ecr_repository.${id}.name`);
  return [
    resource(
      "aws_ecr_repository",
      id,
      {
        name: expression(`"\${module.core.name_prefix}/${name}"`),
        image_tag_mutability: "IMMUTABLE",
        force_delete: expression("local.is_disposable"),
        tags: TAGS,
      },
      block("image_scanning_configuration", [], { scan_on_push: true }),
      block("encryption_configuration", [], { encryption_type: "AES256" }),
    ),
    resource("aws_ecr_lifecycle_policy", id, {
      repository,
      policy: jsonencode({
        rules: [
          renderExpiry(1, "Images without a tag", {
            tagStatus: "untagged",
            countType: "sinceImagePushed",
            countUnit: "days",
            countNumber: 1,
          }),
          renderExpiry(2, `All but the newest ${keepImages}`, {
            tagStatus: "any",
            countType: "imageCountMoreThan",
            countNumber: keepImages,
          }),
        ],
      }),
    }),
    resource("aws_ecr_repository_policy", id, {
      repository,
      policy: renderPolicy({
        Sid: "AllowFunctions",
        Effect: "Allow",
        Principal: { Service: "lambda.amazonaws.com" },
        Action: ["ecr:BatchGetImage", "ecr:GetDownloadUrlForLayer"],
        Condition: {
          StringLike: {
            "aws:SourceArn": expression(
              '"arn:*:lambda:${module.core.region}:${module.core.account_id}:function:${module.core.name_prefix}-*"',
            ),
          },
        },
      }),
    }),
  ];
}

function renderExpiry(
  rulePriority: number,
  description: string,
  selection: Readonly<Record<string, string | number>>,
): HclValue {
  return { rulePriority, description, selection, action: { type: "expire" } };
}
