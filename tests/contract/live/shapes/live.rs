//! Calls the shapes project with the generated client: live <url> <token>
use openapi::apis::{Error, configuration::Configuration, files_api, search_api, values_api};
use openapi::models::{Changes, Circle, Color, Comment, Shape, Values, circle};

const TENANT: &str = "3f2504e0-4f89-41d3-9a0c-0305e82c3301";

#[tokio::main]
async fn main() {
    let args: Vec<String> = std::env::args().collect();
    let mut api = Configuration::new();
    api.base_path = args[1].clone();

    let bytes: Vec<u8> = (0..=255).collect();
    let path = std::env::temp_dir().join(format!("shapes-{}.bin", std::process::id()));
    std::fs::write(&path, &bytes).unwrap();
    // the generator sends a list in a form as JSON, and leaves out cookies
    let made = files_api::upload_file(&api, path.clone(), "größe", None).await;
    std::fs::remove_file(&path).unwrap();
    let made = made.unwrap();
    assert_eq!((made.bytes, made.sum, made.note.as_str()), (256, 32640, "größe"));
    let part = files_api::download_file(&api, "a b", Some("bytes=1-3"), None).await.unwrap();
    assert_eq!(part.bytes().await.unwrap().to_vec(), vec![1, 2, 3]);

    let tag = vec!["x y".to_string(), "a&b".to_string()];
    let from = "2026-02-03".parse().ok();
    let found = search_api::search(
        &api, TENANT, Some(tag.clone()), Some(Color::Variant1st), Some(5), from, Some("yes"), Some("high"), None,
    ).await.unwrap();
    assert_eq!((found.tag, found.limit, found.from, found.exact), (tag, 5, from, true));
    assert_eq!(found.rank.as_deref(), Some("high"));
    match search_api::search(&api, TENANT, None, None, Some(100), None, None, None, None).await {
        Err(Error::ResponseError(error)) => assert_eq!(error.status.as_u16(), 409),
        other => panic!("a conflict: {other:?}"),
    }

    let circle = Shape::Circle(Box::new(Circle::new(circle::Kind::Circle, 1.5)));
    let at = "2026-02-03T04:05:06Z".parse().unwrap();
    let day = "2026-02-03".parse().unwrap();
    let thread = Comment::new("a".into(), vec![Comment::new("b".into(), vec![])]);
    let labels = [("a".to_string(), 1)].into();
    let given = Values::new(
        "ä".into(), day, at, (1 << 53) - 1, 0.1, false, Color::DarkBlue, None, labels, vec![vec![1], vec![]], circle,
        vec![], thread,
    );
    // a fault of the generator: it reads no union with a discriminator (OpenAPITools/openapi-generator#22018)
    match values_api::put_values(&api, 12, given).await {
        Err(Error::Serde(error)) => assert!(error.to_string().contains("missing field `kind`"), "{error}"),
        other => panic!("the generator reads unions: {other:?}"),
    }
    let changes = Changes { text: Some("b".into()), ..Changes::new() };
    assert_eq!(values_api::patch_values(&api, 12, changes.clone()).await.unwrap(), changes);
    values_api::remove_values(&api, 12).await.unwrap();
    println!("called");
}
