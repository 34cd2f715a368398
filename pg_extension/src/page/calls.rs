//! With what argument does a stored expression call a function?
//!
//! Defaults, rules and the bodies of functions are kept as trees. They are read as trees: how
//! one is shown as a text depends on settings, and has many forms for one number.

use core::ffi::{CStr, c_void};

use pg_sys::{Node, NodeTag, Oid};
use pgrx::{is_a, pg_guard, pg_sys};

/// The first oid of what users make; below are the server's own functions.
const FIRST_OF_USERS: u32 = 16_384;
/// Arguments of more nodes are not computed.
const MOST_NODES: u32 = 100;
/// Nor are those with a longer constant.
const MOST_BYTES: usize = 256;

/// What is looked for, and what was found of it.
struct Search<'a> {
    functions: &'a [Oid],
    argument: &'a [u8],
    calls: u64,
    with_it: u64,
    unknown: u64,
}

/// Whether a stored tree calls one of some functions with that as the first argument: 2 where it
/// does, 1 where that is known only when it runs, 0 where it is another; `None` for no call.
///
/// What the argument is, is computed of constants by the server's own functions. Nothing that
/// somebody else has made is run, whatever it says of itself.
pub(crate) fn calls_with(tree: &CStr, functions: &[Oid], argument: &[u8]) -> Option<i32> {
    let mut search = Search { functions, argument, calls: 0, with_it: 0, unknown: 0 };
    // SAFETY: values of type pg_node_tree come from the server's catalogs alone, and are read by
    // the server's own function. The search outlives the walk.
    unsafe {
        let node = pg_sys::stringToNode(tree.as_ptr()).cast::<Node>();
        visit(node, (&raw mut search).cast());
    }
    match search {
        Search { with_it: 1.., .. } => Some(2),
        Search { unknown: 1.., .. } => Some(1),
        Search { calls: 1.., .. } => Some(0),
        _ => None,
    }
}

/// Looks at a node and at all below it.
///
/// # Safety
/// A node or null, and a [`Search`].
#[pg_guard]
unsafe extern "C-unwind" fn visit(node: *mut Node, search: *mut c_void) -> bool {
    if node.is_null() {
        return false;
    }
    // SAFETY: a node is cast to what its tag says that it is.
    unsafe {
        if is_a(node, NodeTag::T_Query) {
            let query = node.cast::<pg_sys::Query>();
            let utility = (*query).utilityStmt;
            if !utility.is_null() && is_a(utility, NodeTag::T_CallStmt) {
                visit((*utility.cast::<pg_sys::CallStmt>()).funcexpr.cast(), search);
            }
            return pg_sys::query_tree_walker(query, Some(visit), search, 0);
        }
        if is_a(node, NodeTag::T_FuncExpr) {
            let call = &*node.cast::<pg_sys::FuncExpr>();
            let search = &mut *search.cast::<Search<'_>>();
            if search.functions.contains(&call.funcid) {
                search.calls += 1;
                match first_argument(call.args).and_then(|argument| constant(argument)) {
                    None => search.unknown += 1,
                    Some(value) if value.is_some_and(|v| v.to_bytes() == search.argument) => {
                        search.with_it += 1;
                    }
                    Some(_) => {}
                }
            }
        }
        pg_sys::expression_tree_walker(node, Some(visit), search)
    }
}

/// The first argument as declared, which a call by names may have elsewhere.
///
/// # Safety
/// The arguments of a call.
unsafe fn first_argument(arguments: *mut pg_sys::List) -> Option<*mut Node> {
    // SAFETY: a list of nodes, or null for an empty one.
    unsafe {
        let count = if arguments.is_null() { 0 } else { (*arguments).length as usize };
        (0..count).find_map(|place| {
            let node = (*(*arguments).elements.add(place)).ptr_value.cast::<Node>();
            if is_a(node, NodeTag::T_NamedArgExpr) {
                let named = &*node.cast::<pg_sys::NamedArgExpr>();
                (named.argnumber == 0).then_some(named.arg.cast())
            } else {
                (place == 0).then_some(node)
            }
        })
    }
}

/// The value of a number or text as text, `Some(None)` for a null; `None` where it is not constant.
///
/// # Safety
/// An expression.
unsafe fn constant<'a>(expression: *mut Node) -> Option<Option<&'a CStr>> {
    // SAFETY: a node is cast to what its tag says that it is; the type of the constant says which
    // function writes it, into memory of the caller's context.
    unsafe {
        let mut nodes = MOST_NODES;
        if is_foreign(expression, (&raw mut nodes).cast()) {
            return None;
        }
        let mut node = pg_sys::eval_const_expressions(core::ptr::null_mut(), expression);
        while is_a(node, NodeTag::T_RelabelType) {
            node = (*node.cast::<pg_sys::RelabelType>()).arg.cast();
        }
        if !is_a(node, NodeTag::T_Const) {
            return None;
        }
        let found = &*node.cast::<pg_sys::Const>();
        if found.constisnull {
            return Some(None);
        }
        let (mut output, mut is_variable) = (Oid::INVALID, false);
        pg_sys::getTypeOutputInfo(found.consttype, &mut output, &mut is_variable);
        if is_of_users(output) {
            return None;
        }
        Some(Some(CStr::from_ptr(pg_sys::OidOutputFunctionCall(output, found.constvalue))))
    }
}

/// Whether to compute an expression might run what users have made, or take long.
///
/// What is made of the server's own types by its own functions alone runs nothing else, whichever
/// nodes it has: a domain's check, a cast and an order of a type of theirs belong to that type.
/// Functions that are not immutable are left in place by whoever folds constants. What might be
/// large, as what `repeat` or a power of `numeric` gives, must not be computed only to know what it
/// is: nobody could interrupt it.
///
/// # Safety
/// A node or null, and how many more nodes are computed, as a `u32`.
#[pg_guard]
unsafe extern "C-unwind" fn is_foreign(node: *mut Node, context: *mut c_void) -> bool {
    #[pg_guard]
    unsafe extern "C-unwind" fn of_users(function: Oid, _context: *mut c_void) -> bool {
        is_of_users(function)
    }
    if node.is_null() {
        return false;
    }
    // SAFETY: a node is cast to what its tag says that it is; all but those that are told apart
    // here are expressions, and have a type. For what is none, the lookup raises an error.
    unsafe {
        let left = &mut *context.cast::<u32>();
        let Some(fewer) = left.checked_sub(1) else {
            return true;
        };
        *left = fewer;
        match (*node).type_ {
            // They read rows, and not all below them are expressions.
            NodeTag::T_SubLink | NodeTag::T_Aggref => return true,
            // Parts of an expression, which have no type of their own.
            NodeTag::T_List | NodeTag::T_CaseWhen => {}
            _ if is_of_users(pg_sys::exprType(node)) => return true,
            NodeTag::T_Const => return is_long(&*node.cast::<pg_sys::Const>()),
            NodeTag::T_OpExpr => {
                let operator = node.cast::<pg_sys::OpExpr>();
                // A stored tree does not keep the function.
                pg_sys::set_opfuncid(operator);
                let operator = &*operator;
                let grows = operator.opfuncid.to_u32() != pg_sys::F_TEXTCAT
                    && may_grow(operator.opfuncid, operator.opresulttype);
                if grows {
                    return true;
                }
            }
            NodeTag::T_FuncExpr => {
                use pg_sys::CoercionForm::{COERCE_EXPLICIT_CAST, COERCE_IMPLICIT_CAST};
                let call = &*node.cast::<pg_sys::FuncExpr>();
                let is_cast =
                    [COERCE_EXPLICIT_CAST, COERCE_IMPLICIT_CAST].contains(&call.funcformat);
                if !is_cast && may_grow(call.funcid, call.funcresulttype) {
                    return true;
                }
            }
            _ => {}
        }
        // It also looks up the functions of operators.
        pg_sys::check_functions_in_node(node, Some(of_users), context)
            || pg_sys::expression_tree_walker(node, Some(is_foreign), context)
    }
}

/// Whether a function or a type is not one of the server's own.
fn is_of_users(object: Oid) -> bool {
    object.to_u32() >= FIRST_OF_USERS
}

/// Whether a constant is longer than a name or a number that anybody would write.
///
/// # Safety
/// A constant of one of the server's own types.
unsafe fn is_long(constant: &pg_sys::Const) -> bool {
    if constant.constisnull || constant.constbyval {
        return false;
    }
    // SAFETY: the length says what the value points to; a stored tree keeps values whole.
    let size = unsafe {
        match constant.constlen {
            -1 => pgrx::varsize_any(constant.constvalue.cast_mut_ptr()),
            -2 => CStr::from_ptr(constant.constvalue.cast_mut_ptr()).count_bytes(),
            size => size.unsigned_abs() as usize,
        }
    };
    size > MOST_BYTES
}

/// Whether what a function gives may be larger than what it was given.
fn may_grow(function: Oid, result: Oid) -> bool {
    const KEEP_THEIR_SIZE: [u32; 13] = [
        pg_sys::F_NUMERIC_ADD,
        pg_sys::F_NUMERIC_SUB,
        pg_sys::F_NUMERIC_MUL,
        pg_sys::F_NUMERIC_DIV,
        pg_sys::F_NUMERIC_MOD,
        pg_sys::F_NUMERIC_UMINUS,
        pg_sys::F_NUMERIC_UPLUS,
        pg_sys::F_NUMERIC_ABS,
        pg_sys::F_ABS_NUMERIC,
        pg_sys::F_CEIL_NUMERIC,
        pg_sys::F_FLOOR_NUMERIC,
        pg_sys::F_ROUND_NUMERIC,
        pg_sys::F_TRUNC_NUMERIC,
    ];
    // SAFETY: a lookup.
    let is_small = unsafe { pg_sys::get_typbyval(result) };
    !is_small && !KEEP_THEIR_SIZE.contains(&function.to_u32())
}
