//! Wire formats and executable protocol models.
