//! The hierarchy: children before parents, each distinct module once.

use std::collections::BTreeMap;

use rust_hdl::prelude::Verilog;

use super::error::{EmitError, Reason};
use super::module::{self, Child, Emitted};
use super::tree::Scope;
use super::{Design, Module, custom, names, regs, text};

/// The modules so far.
#[derive(Default)]
pub(super) struct Builder {
    modules: Vec<Module>,
    by_name: BTreeMap<String, usize>,
}

impl Builder {
    /// Emits `scope` and everything under it; `auto` names it if it has no name of its own.
    pub(super) fn block(
        &mut self,
        scope: &Scope,
        path: &str,
        auto: &str,
    ) -> Result<Emitted, EmitError> {
        let named = scope.info.as_ref().map(|i| i.name.clone());
        let name = named.clone().unwrap_or_else(|| auto.to_owned());
        let fail = |signal: Option<String>, reason: Reason| EmitError {
            block: match &named {
                Some(module) => format!("{path} ({module})"),
                None => path.to_owned(),
            },
            signal,
            reason,
        };
        if !names::is_legal(&name) {
            return Err(fail(None, Reason::BadName(name)));
        }
        let parameters = scope.info.as_ref().map(|i| i.parameters.clone());
        let parameters = parameters.unwrap_or_default();
        let mut instances = vec![];
        let (text, lost, ports, names) = match &scope.code {
            Verilog::Blackbox(_) => {
                return Err(fail(None, Reason::Unsupported("a black box".into())));
            }
            Verilog::Wrapper(_) => return Err(fail(None, Reason::Unsupported("a wrapper".into()))),
            Verilog::Custom(_) if named.is_none() => {
                let what = "custom Verilog of a block without a `ModuleInfo` (declare it with `hdl_module!`)";
                return Err(fail(None, Reason::Unsupported(what.into())));
            }
            Verilog::Custom(body) => {
                if let Some(child) = scope.children.first() {
                    let what = format!(
                        "custom Verilog beside the child block `{}`",
                        names::rust_path(&child.name)
                    );
                    return Err(fail(None, Reason::Unsupported(what)));
                }
                // Its own sizes at the top, where nobody gives them; else the least, as the text must not depend on them.
                let mut shown = parameters.clone();
                if path != "top" {
                    shown.iter_mut().for_each(|p| p.value = 1);
                }
                let (text, ports, names) = custom::emit(&name, scope, body, &shown, &fail)?;
                (text, vec![], ports, names)
            }
            Verilog::Combinatorial(_) | Verilog::Empty if !parameters.is_empty() => {
                let what = "parameters of a block whose Verilog is not custom";
                return Err(fail(None, Reason::Unsupported(what.into())));
            }
            Verilog::Combinatorial(_) | Verilog::Empty => {
                let mut children = vec![];
                for child in &scope.children {
                    if regs::clock_port(child).is_some() {
                        continue;
                    }
                    let path = format!("{path}.{}", names::rust_path(&child.name));
                    let field = child.name.split('$').next().unwrap_or(&child.name);
                    let emitted = self.block(child, &path, &format!("{name}_{field}"))?;
                    children.push(Child {
                        scope: child,
                        emitted,
                    });
                }
                let plan = module::plan(scope, &children, &fail)?;
                let (text, lost) = text::module(&name, scope.info.as_ref(), &plan);
                instances = plan
                    .instances
                    .iter()
                    .map(|i| (i.module.clone(), i.name.clone()))
                    .collect();
                let below = children.iter().flat_map(|c| c.emitted.names.iter());
                let names = below.chain(plan.signals.names.taken()).cloned().collect();
                (text, lost, plan.ports, names)
            }
        };
        let Some(&known) = self.by_name.get(&name) else {
            self.by_name.insert(name.clone(), self.modules.len());
            let doc = scope
                .info
                .as_ref()
                .map(|i| i.doc.clone())
                .unwrap_or_default();
            self.modules.push(Module {
                name: name.clone(),
                text,
                doc,
                instances,
                has_parameters: !parameters.is_empty(),
                lost,
            });
            return Ok(Emitted {
                module: name,
                parameters,
                ports,
                names,
            });
        };
        if self.modules[known].text == text {
            return Ok(Emitted {
                module: name,
                parameters,
                ports,
                names,
            });
        }
        Err(fail(None, Reason::ModuleClash(name)))
    }

    /// The finished design.
    pub(super) fn finish(self, top: String) -> Design {
        Design {
            top,
            modules: self.modules,
        }
    }
}
