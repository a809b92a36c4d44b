//! The open inference protocol's infer, as KServe, Triton and TGI speak it.

use json_scan::Node;

use crate::answer_places::{AnswerNode, ERROR, Place};
use crate::dialect::{About, Dialect, Rules};
use crate::request_places::{RequestNode, request};

static REQUEST: RequestNode = request(&[]);
static ANSWER: AnswerNode = Node::root(&[Node::leaf("model_name", Place::Model), ERROR]);

/// `/infer`.
pub(crate) static INFER: Dialect = Dialect {
    name: "kserve_infer",
    operation: "infer",
    provider: "kserve",
    routes: &["/models/{model}/infer", "/models/{model}/versions/{}/infer"],
    request: &REQUEST,
    answer: &ANSWER,
    messages: None,
    rules: Rules::UNGENERATED,
    about: About {
        servers: "KServe, Triton, TGI",
        recognised_by: "the path, which also names the model",
        first_token: "none: it is not streamed",
        usage: "none",
        end: "the answer's end",
        errors: "`error` as text",
    },
};
